//! Appends whole lines to a log. The file is opened for each line, so log rotation needs no notification.

use crate::RootError;
use crate::destination::Destination;
use crate::error::{OnPath, failed};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// Adds one line at the end. If the disk is full, no part of it is written.
///
/// # Errors
/// [`RootError::ForeignLink`]; the errno of open or write; `ENOSPC` if not all of it fits; `ELOOP` for a symbolic link,
/// `EINVAL` for a directory.
pub fn append(path: &Path, line: &[u8]) -> Result<(), RootError> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
    {
        std::fs::create_dir_all(folder).on(folder, "create")?;
    }
    // NONBLOCK: opening a fifo without a reader must not block forever.
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Destination { dir, name, .. } = Destination::of_no_link(path)?;
    let file = rustix::fs::openat(&dir, &name, flags, Mode::from_raw_mode(0o640)).on(path, "open")?;
    let stat = rustix::fs::fstat(&file).on(path, "stat")?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    match rustix::io::retry_on_intr(|| rustix::io::write(&file, line)) {
        Ok(written) if written == line.len() => Ok(()),
        // A partial write is truncated again, so that the next line starts on its own.
        Ok(_) if is_file => {
            rustix::fs::ftruncate(&file, stat.st_size.unsigned_abs()).on(path, "cut")?;
            Err(failed(path, "write", Errno::NOSPC))
        }
        Ok(_) => Err(failed(path, "write", Errno::NOSPC)),
        Err(errno) => Err(failed(path, "write", errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_after_a_log_rotation_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/log");
        append(&path, b"one\n").unwrap();
        append(&path, b"two\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
        std::fs::rename(&path, dir.path().join("old")).unwrap();
        append(&path, b"three\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"three\n");
    }

    #[test]
    fn links_directories_and_full_devices_are_refused_as_logs() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert_eq!(append(&link, b"x").unwrap_err().errno(), Some(libc::ELOOP));
        assert!(append(dir.path(), b"x").is_err());
        assert_eq!(
            append(Path::new("/dev/full"), b"x").unwrap_err().errno(),
            Some(libc::ENOSPC)
        );
    }
}
