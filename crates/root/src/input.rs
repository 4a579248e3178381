//! Reads files that the user names, such as a kernel configuration: whole, with a size limit, without ever blocking.
//! Files that may exceed memory are [mapped](crate::mapped).

use crate::RootError;
use crate::error::{OnPath, failed};
use crate::gzip::{MAX_INFLATED, unpacked_text};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The content of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`text`], without those of unpacking.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, RootError> {
    let mut content = Vec::new();
    regular(path)?
        .take(most + 1)
        .read_to_end(&mut content)
        .on(path, "read")?;
    if content.len() as u64 > most {
        return Err(failed(path, "read", Errno::FBIG));
    }
    Ok(content)
}

/// Opens a regular file of any length to read it line by line.
///
/// # Errors
/// [`RootError::Io`] with `ENOENT` for a missing file, `EISDIR` for anything but a regular file; [`RootError::Denied`]
/// without permission.
pub fn lines(path: &Path) -> Result<impl BufRead + use<>, RootError> {
    Ok(BufReader::with_capacity(1 << 16, regular(path)?))
}

/// The regular files in a directory that the user names, by name, without hidden ones. `None` if it is not a directory.
///
/// # Errors
/// [`RootError::Io`] for a directory that cannot be read; [`RootError::Denied`] without permission.
pub fn files_in(dir: &Path) -> Result<Option<Vec<PathBuf>>, RootError> {
    if !dir.is_dir() {
        return Ok(None);
    }
    let failed = |error: std::io::Error| failed(dir, "list", error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if path.is_file() && !entry.file_name().as_encoded_bytes().starts_with(b".") {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(Some(files))
}

pub(crate) fn regular(path: &Path) -> Result<File, RootError> {
    // A fifo must not block us, so open does not wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::empty()).on(path, "open")?;
    let stat = rustix::fs::fstat(&file).on(path, "stat")?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(failed(path, "read", Errno::ISDIR));
    }
    Ok(File::from(file))
}

/// The content of a file as text, unpacked if it is gzip. At most [`MAX_INFLATED`] bytes.
///
/// # Errors
/// [`RootError::Io`] with `ENOENT` for a missing file, `EISDIR` for anything but a regular file, `EFBIG` for a file
/// that is too large, `EILSEQ` for invalid gzip; [`RootError::Denied`] without permission.
pub fn text(path: &Path) -> Result<String, RootError> {
    let content = bytes(path, MAX_INFLATED)?;
    match content.starts_with(&[0x1f, 0x8b]) {
        true => unpacked_text(&content).ok_or_else(|| failed(path, "unpack", Errno::ILSEQ)),
        false => Ok(crate::into_text(content)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn plain_and_compressed_files_are_read_and_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        std::fs::write(&file, "CONFIG_A=y\n").unwrap();
        assert_eq!(text(&file).unwrap(), "CONFIG_A=y\n");
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"CONFIG_B=y\n").unwrap();
        std::fs::write(&file, packer.finish().unwrap()).unwrap();
        assert_eq!(text(&file).unwrap(), "CONFIG_B=y\n");
        std::fs::write(&file, [0x1f, 0x8b, 0]).unwrap();
        assert!(text(&file).is_err());
        assert!(text(dir.path()).is_err());
        assert!(text(&dir.path().join("none")).is_err());
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(text(&fifo).is_err());
    }
}
