//! Accesses the tool's own state directories: `/run/quietcore` (this boot) and `/var/lib/quietcore` (persistent).
//!
//! The journal in them decides what an undo writes as root, so no other user may be able to plant or change a file
//! there. The directory is 0700 and ours, symbolic links are refused, and every file is reached through the descriptor
//! of the checked directory, never again by its path.

mod append;
mod lock;
mod read;

pub use lock::{Lock, LockFile};

use crate::RootError;
use crate::error::{OnPath, failed};
use append::AppendedFile;
use read::ReadFile;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// State of this boot: gone after a restart, like the changes that it describes.
pub const RUN_DIR: &str = "/run/quietcore";
/// State that survives a restart: boot-line changes and saved results.
pub const LIB_DIR: &str = "/var/lib/quietcore";

/// What an append must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendDurability {
    /// The end of our process, even by SIGKILL: the kernel has the record.
    Kernel,
    /// A crash of the machine: file and directory are on disk (`fsync(2)`).
    Disk,
}

/// An open state directory that was checked to be safe.
///
/// Names are relative: `journal`, or `history/journal.3` one level down.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    dir: OwnedFd,
    appended: Mutex<Option<AppendedFile>>,
    known: Mutex<Vec<ReadFile>>,
}

impl StateDir {
    /// Opens the directory; `None` if it does not exist.
    ///
    /// # Errors
    /// [`RootError::Denied`] without permission; [`RootError::FrameState`] for a symbolic link, another owner or a directory
    /// that others may use.
    pub fn open(path: &Path) -> Result<Option<StateDir>, RootError> {
        match rustix::fs::open(path, dir_flags(), Mode::empty()) {
            Ok(dir) => StateDir::checked(path, dir).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(dir_error(path, "open", errno)),
        }
    }

    /// Opens the directory, and creates it (mode 0700) and its parents (0755) if they are missing.
    ///
    /// # Errors
    /// As [`StateDir::open`], and the errno of `mkdir(2)`.
    pub fn create(path: &Path) -> Result<StateDir, RootError> {
        if let Some(state) = StateDir::open(path)? {
            return Ok(state);
        }
        let above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .filter(|dir| !dir.as_os_str().is_empty())
            .collect();
        for dir in above.into_iter().rev() {
            make_dir(dir, Mode::from_raw_mode(0o755))?;
        }
        make_dir(path, Mode::RWXU)?;
        StateDir::open(path)?.ok_or_else(|| dir_error(path, "open", Errno::NOENT))
    }

    /// Its path, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of a file in bytes; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`StateDir::read`].
    pub fn size(&self, name: &str) -> Result<Option<u64>, RootError> {
        let Some(place) = self.place(name, MissingDirectory::Leave)? else {
            return Ok(None);
        };
        let Some(file) = self.open_file(&place, OFlags::RDONLY)? else {
            return Ok(None);
        };
        let stat = rustix::fs::fstat(&file).on(self.display_path(name), "stat")?;
        Ok(Some(stat.st_size.unsigned_abs()))
    }

    /// Replaces a whole file: readers see the old or the new content, even after a crash of the machine.
    ///
    /// # Errors
    /// The errno of the step that failed; the old file is then unchanged.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<(), RootError> {
        let place = self.made_place(name)?;
        let shown = self.display_path(name);
        let temporary = format!(".{}.{}", place.file, std::process::id());
        let dir = place.dir(self);
        // A leftover file with the same number belongs to a process that died.
        let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, &temporary, flags, Mode::RUSR | Mode::WUSR).on(&shown, "create")?;
        let outcome = write_all(&file, content, &shown)
            .and_then(|()| sync(&file, &shown))
            .and_then(|()| rustix::fs::renameat(dir, &temporary, dir, &place.file).on(&shown, "rename"))
            .and_then(|()| sync(dir, &shown));
        if outcome.is_err() {
            let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
        }
        outcome
    }

    /// Renames a file, and creates the subdirectory of `to` if it is missing. Never overwrites.
    ///
    /// # Errors
    /// `ENOENT` without the file, `EEXIST` if `to` exists, else the errno of the step that failed.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), RootError> {
        let shown = self.display_path(from);
        let Some(old) = self.place(from, MissingDirectory::Leave)? else {
            return Err(failed(&shown, "rename", Errno::NOENT));
        };
        let new = self.made_place(to)?;
        let (old_dir, new_dir) = (old.dir(self), new.dir(self));
        match rustix::fs::renameat_with(old_dir, &old.file, new_dir, &new.file, RenameFlags::NOREPLACE) {
            // Some file systems support no flags; the caller holds the lock, so checking first is enough.
            Err(Errno::INVAL | Errno::NOSYS) => {
                if rustix::fs::statat(new_dir, &new.file, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Err(failed(self.display_path(to), "rename", Errno::EXIST));
                }
                rustix::fs::renameat(old_dir, &old.file, new_dir, &new.file)
            }
            outcome => outcome,
        }
        .map_err(|errno| {
            let name = if errno == Errno::EXIST { to } else { from };
            failed(self.display_path(name), "rename", errno)
        })?;
        sync(new_dir, &shown)?;
        sync(old_dir, &shown)
    }

    /// The names of the files and directories in it (`sub` is empty) or in a subdirectory, sorted, without our own lock
    /// and temporary files. Empty if the subdirectory does not exist.
    ///
    /// # Errors
    /// The errno of open or read.
    pub fn names(&self, sub: &str) -> Result<Vec<String>, RootError> {
        let shown = self.display_path(sub);
        let opened = if sub.is_empty() {
            rustix::fs::openat(&self.dir, ".", dir_flags(), Mode::empty())
        } else {
            check_component(sub, &shown)?;
            rustix::fs::openat(&self.dir, sub, dir_flags(), Mode::empty())
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(failed(&shown, "open", errno)),
        };
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(dir).on(&shown, "list")? {
            let entry = entry.on(&shown, "list")?;
            let name = entry.file_name().to_string_lossy();
            if !name.starts_with('.') {
                names.push(name.into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Removes a file. A missing file is not an error.
    ///
    /// # Errors
    /// The errno of unlink.
    pub fn remove(&self, name: &str) -> Result<(), RootError> {
        let Some(place) = self.place(name, MissingDirectory::Leave)? else {
            return Ok(());
        };
        let shown = self.display_path(name);
        match rustix::fs::unlinkat(place.dir(self), &place.file, AtFlags::empty()) {
            Ok(()) => sync(place.dir(self), &shown),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed(&shown, "remove", errno)),
        }
    }

    /// Removes the directory if it contains only our own lock; returns whether it is gone.
    ///
    /// # Errors
    /// The errno of the removal, except that the directory is not empty.
    pub fn discard(self) -> Result<bool, RootError> {
        let _ = rustix::fs::unlinkat(&self.dir, LockFile::State.name(), AtFlags::empty());
        match rustix::fs::rmdir(&self.path) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(errno) => Err(dir_error(&self.path, "remove", errno)),
        }
    }

    fn checked(path: &Path, dir: OwnedFd) -> Result<StateDir, RootError> {
        let stat = rustix::fs::fstat(&dir).map_err(|errno| dir_error(path, "stat", errno))?;
        let state = |what: String| RootError::State {
            path: path.display().to_string(),
            what,
        };
        let own = rustix::process::geteuid().as_raw();
        if stat.st_uid != own {
            return Err(state(format!(
                "it belongs to user {}, not to user {own}; remove it if it is not yours, then try again",
                stat.st_uid
            )));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(state(format!(
                "its mode {:o} allows access by others; check its content, then `chmod 0700` it",
                stat.st_mode & 0o7777
            )));
        }
        Ok(StateDir {
            path: path.to_owned(),
            dir,
            appended: Mutex::default(),
            known: Mutex::default(),
        })
    }

    fn display_path(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn made_place(&self, name: &str) -> Result<StatePath, RootError> {
        self.place(name, MissingDirectory::Make)?
            .ok_or_else(|| failed(self.display_path(name), "open", Errno::NOENT))
    }

    /// Splits a name, and opens (or creates) its subdirectory; `None` if that is missing.
    fn place(&self, name: &str, missing: MissingDirectory) -> Result<Option<StatePath>, RootError> {
        let shown = self.display_path(name);
        let Some((sub, file)) = name.split_once('/') else {
            check_component(name, &shown)?;
            return Ok(Some(StatePath {
                sub: None,
                file: name.to_owned(),
            }));
        };
        check_component(sub, &shown)?;
        check_component(file, &shown)?;
        if missing == MissingDirectory::Make {
            match rustix::fs::mkdirat(&self.dir, sub, Mode::RWXU) {
                Ok(()) => sync(&self.dir, &shown)?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(&shown, "create", errno)),
            }
        }
        match rustix::fs::openat(&self.dir, sub, dir_flags(), Mode::empty()) {
            Ok(dir) => Ok(Some(StatePath {
                sub: Some(dir),
                file: file.to_owned(),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(&shown, "open", errno)),
        }
    }

    fn open_file(&self, place: &StatePath, flags: OFlags) -> Result<Option<OwnedFd>, RootError> {
        let shown = self.display_path(&place.file);
        // NONBLOCK: opening a planted fifo must not block forever.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(place.dir(self), &place.file, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(foreign_file_error(shown, "it is a symbolic link")),
            Err(Errno::NXIO) => return Err(foreign_file_error(shown, "it is not a plain file")),
            Err(errno) => return Err(failed(&shown, "open", errno)),
        };
        let stat = rustix::fs::fstat(&file).on(&shown, "stat")?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(foreign_file_error(shown, "it is not a plain file"));
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(foreign_file_error(shown, "it belongs to another user"));
        }
        Ok(Some(file))
    }
}

/// What to do about a missing subdirectory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingDirectory {
    Leave,
    Make,
}

/// A file name and its subdirectory.
struct StatePath {
    sub: Option<OwnedFd>,
    file: String,
}

impl StatePath {
    fn dir<'a>(&'a self, state: &'a StateDir) -> &'a OwnedFd {
        self.sub.as_ref().unwrap_or(&state.dir)
    }
}

pub(crate) fn write_all(file: &OwnedFd, mut content: &[u8], path: impl AsRef<Path>) -> Result<(), RootError> {
    while !content.is_empty() {
        match rustix::io::write(file, content) {
            Ok(0) => return Err(failed(path, "write", Errno::NOSPC)),
            Ok(written) => content = content.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(path, "write", errno)),
        }
    }
    Ok(())
}

pub(crate) fn sync(file: &OwnedFd, path: impl AsRef<Path>) -> Result<(), RootError> {
    match rustix::io::retry_on_intr(|| rustix::fs::fsync(file)) {
        // File systems without a disk may not support fsync of a directory.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(failed(path, "fsync", errno)),
    }
}

fn dir_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Creates a directory whose name is on disk afterwards, so that synced files in it survive a power cut.
fn make_dir(path: &Path, mode: Mode) -> Result<(), RootError> {
    match rustix::fs::mkdir(path, mode) {
        Ok(()) => sync_above(path),
        Err(Errno::EXIST) => Ok(()),
        // The directory exists on a read-only file system; anything missing below it fails by itself.
        Err(Errno::ROFS | Errno::ACCESS) if path.is_dir() => Ok(()),
        Err(errno) => Err(dir_error(path, "create", errno)),
    }
}

/// Waits until the name of a path is on disk.
pub(crate) fn sync_above(path: &Path) -> Result<(), RootError> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(above.unwrap_or(Path::new(".")), flags, Mode::empty()).on(path, "open")?;
    sync(&dir, path)
}

fn dir_error(path: &Path, doing: &'static str, errno: Errno) -> RootError {
    let shown = path.display().to_string();
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_symlink());
    match errno {
        Errno::LOOP | Errno::NOTDIR if is_link => foreign_file_error(shown, "it is a symbolic link"),
        Errno::NOTDIR => foreign_file_error(shown, "it is not a directory"),
        _ => failed(path, doing, errno),
    }
}

fn foreign_file_error(path: String, what: &str) -> RootError {
    RootError::State {
        path,
        what: format!("{what}; quietcore did not create it: remove it, then try again"),
    }
}

fn check_component(name: &str, shown: &str) -> Result<(), RootError> {
    let bad = name.is_empty() || name == "." || name == ".." || name.bytes().any(|byte| matches!(byte, b'/' | 0));
    if bad {
        return Err(RootError::State {
            path: shown.to_owned(),
            what: format!("`{name}` is not a valid file name; use letters, digits, `-`, `_` and `.`"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
