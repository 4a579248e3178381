//! Reads the state of a path completely enough to restore it: the former state of installed files.
//!
//! Everything is written under a temporary name and then renamed, and is on disk when the call returns: after a power
//! cut either the old or the new state exists.

use crate::error::{OnPath, failed};
use crate::files::FileQueries;
use crate::state::{sync, sync_above, write_all};
use crate::{Live, RootError, attributes};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathState {
    /// Nothing.
    Nothing,
    /// A directory, whatever its content.
    Dir,
    /// A symbolic link with this text.
    Link(String),
    /// A regular file.
    File {
        /// Its content.
        content: Content,
        /// Its permission bits.
        mode: u32,
    },
}

/// The content of a file: as text if possible, so that it is readable where it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

/// What a power cut during `rename(2)` leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameAtomicity {
    /// The old or the new file.
    Atomic,
    /// Possibly neither: FAT has no journal, and the two names are in blocks that are written one after the other
    /// (`fs/fat/namei_vfat.c`, `vfat_rename`).
    InSteps,
}

impl Content {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        match String::from_utf8(bytes) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Bytes(error.into_bytes()),
        }
    }
}

impl PathState {
    /// A text file.
    #[must_use]
    pub fn text(text: impl Into<String>, mode: u32) -> PathState {
        PathState::File {
            content: Content::Text(text.into()),
            mode,
        }
    }
}

impl Live {
    /// The state of a path; a link at the end is not followed.
    ///
    /// # Errors
    /// The errno of the step that failed; `EFBIG` for a file above 4 MiB, `EINVAL` for a device, pipe or socket.
    pub fn path_state(&self, path: &str) -> Result<PathState, RootError> {
        const MOST: u64 = 4 << 20;
        let place = self.locate(path);
        let Some(stat) = rustix::fs::lstat(&place).if_there(path, "stat")? else {
            return Ok(PathState::Nothing);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(PathState::Dir),
            FileType::Symlink => match self.link(path)? {
                Some(target) => Ok(PathState::Link(target)),
                None => Ok(PathState::Nothing),
            },
            FileType::RegularFile => Ok(PathState::File {
                content: crate::input::bytes(&place, MOST)?.into(),
                mode: stat.st_mode & 0o7777,
            }),
            _ => Err(failed(path, "read", Errno::INVAL)),
        }
    }

    /// How renames behave in the file system of a path's directory.
    ///
    /// # Errors
    /// The errno of the query.
    pub fn renames(&self, path: &str) -> Result<RenameAtomicity, RootError> {
        // `include/uapi/linux/magic.h`: MSDOS_SUPER_MAGIC and EXFAT_SUPER_MAGIC.
        const IN_STEPS: [u64; 2] = [0x4d44, 0x2011_bab0];
        let place = self.locate(path);
        let dir = place.parent().unwrap_or(&place);
        let stat = rustix::fs::statfs(dir).on(path, "ask for the file system of")?;
        // The size of this field differs on 32-bit machines.
        let kind = stat.f_type as u64 & 0xffff_ffff;
        Ok(match IN_STEPS.contains(&kind) {
            true => RenameAtomicity::InSteps,
            false => RenameAtomicity::Atomic,
        })
    }

    /// Writes everything in the file system of a directory to disk, whichever process wrote it. For a missing directory
    /// it does nothing.
    ///
    /// # Errors
    /// The errno of opening it or of `syncfs(2)`.
    pub fn sync_file_system(&self, path: &str) -> Result<(), RootError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(self.locate(path), flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(errno) => Err(failed(path, "open", errno)),
            Ok(dir) => rustix::fs::syncfs(&dir).on(path, "sync the file system of"),
        }
    }

    /// Sets the state of a path, whose directory exists. A directory is created or removed only if none or an empty one
    /// exists. A file that replaces another keeps its owner, group, access list and extended attributes.
    ///
    /// # Errors
    /// The errno of the step that failed; the state is then unchanged.
    pub fn set_path_state(&self, path: &str, state: &PathState) -> Result<(), RootError> {
        let place = self.locate(path);
        match state {
            PathState::Nothing => match self.path_state(path)? {
                PathState::Nothing => return Ok(()),
                PathState::Dir => rustix::fs::rmdir(&place).on(path, "remove")?,
                _ => rustix::fs::unlink(&place).on(path, "remove")?,
            },
            PathState::Dir => rustix::fs::mkdir(&place, Mode::from_raw_mode(0o755)).on(path, "create")?,
            PathState::Link(target) => {
                let beside = beside(&place);
                let _ = rustix::fs::unlink(&beside);
                rustix::fs::symlink(target.as_str(), &beside).on(path, "create")?;
                into_place(&beside, &place, path)?;
            }
            PathState::File { content, mode } => {
                let beside = beside(&place);
                let _ = rustix::fs::unlink(&beside);
                let written = write(&beside, &place, content.bytes(), *mode, path);
                if written.is_err() {
                    let _ = rustix::fs::unlink(&beside);
                }
                written.and_then(|()| into_place(&beside, &place, path))?;
            }
        }
        match self.renames(path)? {
            RenameAtomicity::Atomic => sync_above(&place),
            // After a rename FAT's directory still has the first block and the size of the replaced file, until the new
            // file's inode is written (`fs/fat/namei_vfat.c`, `vfat_rename`): syncing the directory is not enough.
            RenameAtomicity::InSteps => {
                let above = path.rsplit_once('/').map_or("/", |(above, _)| above);
                self.sync_file_system(if above.is_empty() { "/" } else { above })
            }
        }
    }
}

fn write(beside: &Path, place: &Path, content: &[u8], mode: u32, shown: &str) -> Result<(), RootError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(beside, flags, Mode::RUSR | Mode::WUSR).on(shown, "create")?;
    write_all(&file, content, shown)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(place, flags, Mode::empty()) {
        Ok(old) => attributes::copy(&old, &file).on(shown, "keep owner, group and attributes of")?,
        // Nothing exists there, or a link.
        Err(Errno::NOENT | Errno::LOOP) => {}
        Err(errno) => return Err(failed(shown, "open", errno)),
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).on(shown, "chmod")?;
    sync(&file, shown)
}

fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{}", std::process::id()))
}

fn into_place(beside: &Path, place: &Path, shown: &str) -> Result<(), RootError> {
    rustix::fs::rename(beside, place).map_err(|errno| {
        let _ = rustix::fs::unlinkat(CWD, beside, AtFlags::empty());
        failed(shown, "rename", errno)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_state_is_read_back_as_it_was_set() {
        let dir = tempfile::tempdir().unwrap();
        let live = Live::rehearsal(dir.path());
        let file = |bytes: &[u8], mode| PathState::File {
            content: bytes.to_vec().into(),
            mode,
        };
        let all = [
            file(b"text\n", 0o755),
            file(b"\xff\0", 0o600),
            PathState::Link("../else where".to_owned()),
            file(b"", 0o644),
            PathState::Nothing,
            PathState::Dir,
            PathState::Nothing,
        ];
        for one in all {
            live.set_path_state("/x", &one).unwrap();
            assert_eq!(live.path_state("/x").unwrap(), one);
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<PathState>(&text).unwrap(), one, "{text}");
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            0,
            "nothing is left beside"
        );
    }

    #[test]
    fn a_replaced_file_keeps_its_attributes() {
        let dir = tempfile::tempdir().unwrap();
        let live = Live::rehearsal(dir.path());
        live.set_path_state("/x", &PathState::text("old", 0o644)).unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        let place = dir.path().join("x");
        rustix::fs::setxattr(&place, "user.note", b"kept", flags).unwrap();
        live.set_path_state("/x", &PathState::text("new", 0o640)).unwrap();
        let mut value = [0; 8];
        assert_eq!(rustix::fs::getxattr(&place, "user.note", &mut value), Ok(4));
        assert_eq!(live.path_state("/x").unwrap(), PathState::text("new", 0o640));
    }

    #[test]
    fn a_full_directory_and_a_pipe_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let live = Live::rehearsal(dir.path());
        live.set_path_state("/d", &PathState::Dir).unwrap();
        live.set_path_state("/d/f", &PathState::text("x", 0o644)).unwrap();
        let error = live.set_path_state("/d", &PathState::Nothing).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOTEMPTY));
        assert!(live.set_path_state("/none/f", &PathState::text("x", 0o644)).is_err());
        rustix::fs::mknodat(CWD, dir.path().join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(live.path_state("/fifo").is_err());
    }
}
