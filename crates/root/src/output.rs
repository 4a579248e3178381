//! Writes files that the user requests by path: results, pages, archives.
//!
//! A whole file appears under its name only when it is complete. A file that grows during a measurement keeps its
//! content if the machine crashes.

mod folder;

use crate::attributes;
use crate::destination::Destination;
use crate::error::{OnPath, failed};
use crate::state::{sync, write_all};
use crate::{Failure, RootError, Status};
pub use folder::make_folder;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Writes a whole file: first to a temporary file next to it, then renamed, so that an older file remains until the new
/// one is complete. A path that is not a regular file (`/dev/stdout`, a fifo) is written directly.
///
/// # Errors
/// The errno of the step that failed; an older file is then unchanged.
pub fn write(path: &Path, content: &[u8]) -> Result<(), RootError> {
    let mut draft = Draft::create(path, ReadAccess::All)?;
    draft.append(content)?;
    draft.finish()
}

/// A file that must not exist yet.
#[derive(Clone, Copy, Debug)]
pub struct NewFile<'a> {
    /// Its path.
    pub path: &'a Path,
    /// Its permissions, before the umask.
    pub mode: u32,
    /// Its content.
    pub content: &'a [u8],
}

/// Writes several files and creates the folders that they need. Nothing is written if one of them already exists, even
/// as a dangling link.
///
/// # Errors
/// `EEXIST` with the first path that exists, or the errno of the step that failed.
pub fn write_new(files: &[NewFile]) -> Result<(), RootError> {
    if let Some(there) = files.iter().find(|file| file.path.symlink_metadata().is_ok()) {
        return Err(failed(there.path, "create", Errno::EXIST));
    }
    for file in files {
        let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            make_folder(folder)?;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let Destination { dir, name, .. } = Destination::of_no_link(file.path)?;
        let opened = open(&dir, &name, file.path, flags, Mode::from_raw_mode(file.mode))?;
        write_all(&opened, file.content, file.path)?;
    }
    Ok(())
}

/// Removes a file of results. A missing file is not an error.
///
/// # Errors
/// The errno of unlink.
pub fn remove(path: &Path) -> Result<(), RootError> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed(path, "remove", errno)),
    }
}

/// Which users may read the file, before the umask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAccess {
    /// Mode 0666: results and pages.
    All,
    /// Mode 0600: content that only root could read on the machine.
    Owner,
}

/// What a file in its final place survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputDurability {
    /// A crash of the machine; costs a wait for the disk.
    Synced,
    /// The end of this process. For files that are replaced soon.
    Cached,
}

/// What exists at the path of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputTarget {
    /// Nothing, or a regular file: it can be replaced repeatedly.
    File,
    /// A device or a pipe: what is written to it cannot be undone.
    Special,
}

/// As [`check`], for a file named by an option.
///
/// # Errors
/// Always wrong usage, whatever the cause: nothing was done.
pub fn check_named(path: &Path) -> Result<OutputTarget, Failure> {
    check(path).map_err(|error| Failure {
        status: Status::Usage,
        next: "choose a file in a directory where you may write, on a disk with free space".to_owned(),
        ..error.into()
    })
}

/// Verifies, before hours of work, that a file can be written at `path`: that its folder accepts a new non-empty file,
/// and that an older file there may be replaced. Leaves nothing behind and changes nothing.
///
/// # Errors
/// The errno of the step that failed.
pub fn check(path: &Path) -> Result<OutputTarget, RootError> {
    let mut draft = Draft::create(path, ReadAccess::Owner)?;
    if draft.temporary.is_none() {
        return Ok(OutputTarget::Special);
    }
    // On a full disk empty files can still be created.
    draft.append(&[0; 4096])?;
    let Destination { dir, name, stat } = &draft.destination;
    if stat.is_some() {
        // The folder's permissions may allow us to replace a file that its owner has protected from us.
        open(dir, name, path, OFlags::WRONLY | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(OutputTarget::File)
}

/// A file that is written under a temporary name. If dropped without [`Draft::finish`], it is removed.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    destination: Destination,
    /// Its name until it is finished; `None` if written directly.
    temporary: Option<OsString>,
    file: OwnedFd,
}

impl Draft {
    /// Creates the file. A replacement is never readable by more users than the old file: it keeps its permissions,
    /// completely if the old file is our own.
    ///
    /// # Errors
    /// The errno of open, with the path given by the user; [`RootError::ForeignLink`], [`RootError::ForeignPipe`].
    pub fn create(path: &Path, readers: ReadAccess) -> Result<Draft, RootError> {
        let destination = Destination::of(path)?;
        let Destination { dir, name, stat } = &destination;
        let old = match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            None => None,
            Some(FileType::RegularFile) => *stat,
            Some(FileType::Directory) => return Err(failed(path, "create", Errno::ISDIR)),
            Some(kind) => {
                destination.refuse_planted(path)?;
                // The only links here are links of /proc: the process's own descriptors.
                let flags = match kind {
                    FileType::Symlink => OFlags::WRONLY | OFlags::APPEND,
                    _ => OFlags::WRONLY | OFlags::NOFOLLOW,
                };
                let file = open(dir, name, path, flags, Mode::empty())?;
                return Ok(Draft {
                    path: path.to_owned(),
                    destination,
                    temporary: None,
                    file,
                });
            }
        };
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}", std::process::id()));
        let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
        let mode = match (readers, old) {
            (ReadAccess::All, None) => Mode::from_raw_mode(0o666),
            _ => Mode::RUSR | Mode::WUSR,
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = open(dir, &temporary, path, flags, mode)?;
        let draft = Draft {
            path: path.to_owned(),
            destination,
            temporary: Some(temporary),
            file,
        };
        match old {
            Some(old) => draft.copy_permissions(&old, readers).map(|()| draft),
            None => Ok(draft),
        }
    }

    /// Copies the permissions of the file that is replaced.
    fn copy_permissions(&self, old: &rustix::fs::Stat, readers: ReadAccess) -> Result<(), RootError> {
        let Destination { dir, name, .. } = &self.destination;
        let is_own = old.st_uid == rustix::process::geteuid().as_raw();
        if is_own && readers == ReadAccess::All {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let is_copied = open(dir, name, &self.path, flags, Mode::empty())
                .is_ok_and(|file| attributes::copy(&file, &self.file).is_ok());
            if is_copied {
                return Ok(());
            }
        }
        // This process may be unable to set the file's group: then no member of another group may read it.
        let most = match readers {
            ReadAccess::All if is_own => Mode::RWXU | Mode::RWXO,
            ReadAccess::All => Mode::RWXU | Mode::RWXG | Mode::RWXO,
            ReadAccess::Owner => Mode::RUSR | Mode::WUSR,
        };
        rustix::fs::fchmod(&self.file, attributes::permissions(old) & most).on(&self.path, "chmod")
    }

    /// Appends to it.
    ///
    /// # Errors
    /// The errno of write.
    pub fn append(&mut self, content: &[u8]) -> Result<(), RootError> {
        write_all(&self.file, content, &self.path)
    }

    /// Moves the file to its place, and waits until it is on disk, under its name.
    ///
    /// # Errors
    /// The errno of fsync or rename.
    pub fn finish(self) -> Result<(), RootError> {
        self.place(OutputDurability::Synced)
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// The errno of fsync or rename.
    pub fn place(mut self, durability: OutputDurability) -> Result<(), RootError> {
        self.rename(durability)
    }

    fn rename(&mut self, durability: OutputDurability) -> Result<(), RootError> {
        let Some(temporary) = self.temporary.take() else {
            return Ok(());
        };
        let Destination { dir, name, .. } = &self.destination;
        let synced = match durability {
            OutputDurability::Synced => sync(&self.file, &self.path),
            OutputDurability::Cached => Ok(()),
        };
        let outcome = synced.and_then(|()| rustix::fs::renameat(dir, &temporary, dir, name).on(&self.path, "rename"));
        if outcome.is_err() {
            let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
        } else if durability == OutputDurability::Synced {
            self.destination.sync(&self.path)?;
        }
        outcome
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = rustix::fs::unlinkat(&self.destination.dir, temporary, AtFlags::empty());
        }
    }
}

impl std::io::Write for Draft {
    fn write(&mut self, content: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::write(&self.file, content))?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A file for the output of a child, which is appended; only the owner may read it.
///
/// # Errors
/// The errno of open; `ELOOP` for a symbolic link.
pub fn for_child(path: &Path) -> Result<OwnedFd, RootError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW;
    let Destination { dir, name, .. } = Destination::of_no_link(path)?;
    open(&dir, &name, path, flags, Mode::from_raw_mode(0o600))
}

/// A file that grows under its own name: an interrupted run keeps its content.
#[derive(Debug)]
pub struct Appender(Draft);

impl Appender {
    /// Creates the file empty.
    ///
    /// # Errors
    /// As [`Draft::create`].
    pub fn create(path: &Path) -> Result<Appender, RootError> {
        let mut draft = Draft::create(path, ReadAccess::All)?;
        draft.rename(OutputDurability::Cached)?;
        Ok(Appender(draft))
    }

    /// Appends to it.
    ///
    /// # Errors
    /// The errno of write.
    pub fn append(&mut self, content: &[u8]) -> Result<(), RootError> {
        self.0.append(content)
    }

    /// Waits until all of it is on disk.
    ///
    /// # Errors
    /// The errno of fsync.
    pub fn finish(self) -> Result<(), RootError> {
        let Draft {
            path,
            file,
            destination,
            ..
        } = &self.0;
        sync(file, path).and_then(|()| destination.sync(path))
    }
}

fn open(dir: impl AsFd, name: impl AsRef<Path>, shown: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, RootError> {
    rustix::fs::openat(dir, name.as_ref(), flags | OFlags::CLOEXEC, mode).on(shown, "create")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_new_replaces_no_existing_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a/b/first.sh"), dir.path().join("second"));
        let file = |path| NewFile {
            path,
            mode: 0o700,
            content: b"new",
        };
        write_new(&[file(&first)]).unwrap();
        assert_eq!(std::fs::read(&first).unwrap(), b"new");
        assert_eq!(first.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink("nowhere", &second).unwrap();
        let other = dir.path().join("other");
        let error = write_new(&[file(&other), file(&second)]).unwrap_err();
        assert_eq!(error.errno(), Some(17));
        assert!(!other.exists(), "nothing is written where one is there");
    }

    #[test]
    fn a_file_appears_only_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        write(&path, b"old").unwrap();
        let mut draft = Draft::create(&path, ReadAccess::Owner).unwrap();
        draft.append(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        draft.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        let mut dropped = Draft::create(&path, ReadAccess::Owner).unwrap();
        dropped.append(b"half").unwrap();
        drop(dropped);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }

    #[test]
    fn writing_through_a_link_replaces_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o7777;
        std::fs::write(&path, "old").unwrap();
        for (readers, before, after) in [
            (ReadAccess::All, 0o600, 0o600),
            (ReadAccess::All, 0o640, 0o640),
            (ReadAccess::Owner, 0o640, 0o600),
            (ReadAccess::Owner, 0o400, 0o400),
        ] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(before)).unwrap();
            Draft::create(&path, readers).unwrap().finish().unwrap();
            assert_eq!(mode(), after, "{before:o}");
        }
    }

    /// An open descriptor is written directly, even if it is a file, because the name of that file is unknown.
    #[test]
    fn an_open_descriptor_is_written_directly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("open");
        let file = std::fs::File::create(&path).unwrap();
        let number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert_eq!(check(Path::new(&number)).unwrap(), OutputTarget::Special);
        write(Path::new(&number), b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(file.metadata().unwrap().len(), 3, "it is the same file");
    }

    #[test]
    fn write_errors_name_the_path() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_owned(), dir.path().join("absent/x"), PathBuf::from("/")] {
            let message = write(&path, b"x").unwrap_err().to_string();
            assert!(message.contains(&path.display().to_string()), "{message}");
        }
        write(Path::new("/dev/null"), b"x").unwrap();
        let full = write(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(full.errno(), Some(libc::ENOSPC));
    }

    #[test]
    fn checking_a_path_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        assert_eq!(check(&path).unwrap(), OutputTarget::File);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::fs::write(&path, b"old").unwrap();
        assert_eq!(check(&path).unwrap(), OutputTarget::File);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(check(Path::new("/dev/null")).unwrap(), OutputTarget::Special);
        for path in [dir.path().to_owned(), dir.path().join("absent/x"), path.join("below")] {
            assert!(check(&path).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn appended_content_is_visible_immediately() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "of an earlier run").unwrap();
        let mut log = Appender::create(&path).unwrap();
        log.append(b"one\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n");
        log.append(b"two\n").unwrap();
        log.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
    }
}
