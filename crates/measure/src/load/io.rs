//! Input and output: writes an unnamed file, waits for the disk, and reads the file back past the page cache.

use rustix::fs::{Advice, AtFlags, CWD, Mode, OFlags, fadvise, fdatasync, open, unlinkat};
use rustix::io::{pread, pwrite};
use std::os::fd::OwnedFd;

/// Size of the file, and of one transfer.
const FILE_BYTES: u64 = 16 << 20;
const BLOCK_BYTES: usize = 128 << 10;

/// Directories for large temporary files, in order of preference.
const FOLDERS: [&str; 2] = ["/var/tmp", "/tmp"];

/// Never returns, unless no directory accepts the file or the disk is full.
pub(super) fn run() {
    let Some(file) = FOLDERS.iter().find_map(|folder| nameless(folder)) else {
        return;
    };
    let mut block = vec![0x5a_u8; BLOCK_BYTES];
    let places = || (0..FILE_BYTES).step_by(BLOCK_BYTES);
    loop {
        let written = places().all(|place| pwrite(&file, &block, place).is_ok());
        if !written || fdatasync(&file).is_err() {
            return;
        }
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        if !places().all(|place| pread(&file, &mut block, place).is_ok()) {
            return;
        }
    }
}

/// A file that is deleted with its last descriptor. File systems without support for such files get a temporary name.
fn nameless(folder: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    if let Ok(file) = open(folder, flags | OFlags::TMPFILE, mode) {
        return Some(file);
    }
    let name = format!("{folder}/quietcore-load-{}", std::process::id());
    let file = open(
        name.as_str(),
        flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW,
        mode,
    )
    .ok()?;
    let _ = unlinkat(CWD, name.as_str(), AtFlags::empty());
    Some(file)
}
