//! Resolves a path of the user without following a symbolic link that another user has placed.
//!
//! Root writes where its user says. In `/tmp`, or in a directory of another user, a link decides where that is. If
//! `fs.protected_symlinks` is set, the kernel refuses such links in sticky directories, but only at the end of a path
//! (`may_follow_link`, `fs/namei.c`). Here each component is looked up by itself, from the descriptor of the directory
//! before it.

use crate::RootError;
use crate::error::failed;
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of followed links, as in the kernel (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;

/// `PROC_SUPER_MAGIC` of `include/uapi/linux/magic.h`.
const PROC: u64 = 0x9fa0;

/// A directory and a name in it.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The directory, open.
    pub dir: OwnedFd,
    /// The name.
    pub name: OsString,
    /// What currently has the name.
    pub stat: Option<Stat>,
}

/// How to handle a symbolic link as the last component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastLinkPolicy {
    /// Follow it, if its owner is trusted.
    Followed,
    /// Return the link itself.
    NotFollowed,
}

impl Destination {
    /// Resolves a path.
    ///
    /// # Errors
    /// [`RootError::ForeignLink`]; the errno of a lookup; `EISDIR` if the path has no last name, `ELOOP` after too many links.
    pub fn of(path: &Path) -> Result<Destination, RootError> {
        Destination::find(path, LastLinkPolicy::Followed)
    }

    /// As [`Destination::of`], for a file that must not be a link: a link at the end is not followed.
    ///
    /// # Errors
    /// As [`Destination::of`].
    pub fn of_no_link(path: &Path) -> Result<Destination, RootError> {
        Destination::find(path, LastLinkPolicy::NotFollowed)
    }

    fn find(path: &Path, last: LastLinkPolicy) -> Result<Destination, RootError> {
        let failed = |errno: Errno| failed(path, "create", errno);
        let mut rest: VecDeque<OsString> = VecDeque::new();
        let mut dir = open_start(path, &mut rest).map_err(failed)?;
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            let is_last = rest.is_empty();
            let file = match rustix::fs::openat(&dir, &name, link_flags(), Mode::empty()) {
                Ok(file) => file,
                Err(Errno::NOENT) if is_last && name != ".." => {
                    let stat = None;
                    return Ok(Destination { dir, name, stat });
                }
                Err(errno) => return Err(failed(errno)),
            };
            let stat = rustix::fs::fstat(&file).map_err(failed)?;
            match FileType::from_raw_mode(stat.st_mode) {
                // The links of /proc/PID/fd belong to the process and have no target that can be written as a path.
                FileType::Symlink if is_last && (last == LastLinkPolicy::NotFollowed || is_in_proc(&dir)) => {
                    let stat = Some(stat);
                    return Ok(Destination { dir, name, stat });
                }
                FileType::Symlink if is_in_proc(&dir) => {
                    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                    dir = rustix::fs::openat(&dir, &name, flags, Mode::empty()).map_err(failed)?;
                }
                FileType::Symlink => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(failed(Errno::LOOP));
                    }
                    if !is_trusted(stat.st_uid) {
                        return Err(RootError::ForeignLink {
                            path: path.to_owned(),
                            uid: stat.st_uid,
                        });
                    }
                    if let Some(start) = follow(&file, &mut rest).map_err(failed)? {
                        dir = start;
                    }
                }
                FileType::Directory if !is_last || name == ".." => dir = file,
                _ if !is_last => return Err(failed(Errno::NOTDIR)),
                _ => {
                    let stat = Some(stat);
                    return Ok(Destination { dir, name, stat });
                }
            }
        }
        Err(failed(Errno::ISDIR))
    }

    /// Refuses a pipe that another user has placed in a directory where all users may create files (as
    /// `fs.protected_fifos` does).
    ///
    /// # Errors
    /// [`RootError::ForeignPipe`].
    pub fn refuse_planted(&self, path: &Path) -> Result<(), RootError> {
        const STICKY_WORLD_WRITABLE: u32 = 0o1002;
        let is_open =
            rustix::fs::fstat(&self.dir).is_ok_and(|dir| dir.st_mode & STICKY_WORLD_WRITABLE == STICKY_WORLD_WRITABLE);
        match self.stat {
            Some(stat)
                if is_open && FileType::from_raw_mode(stat.st_mode) == FileType::Fifo && !is_trusted(stat.st_uid) =>
            {
                Err(RootError::ForeignPipe {
                    path: path.to_owned(),
                    uid: stat.st_uid,
                })
            }
            _ => Ok(()),
        }
    }

    /// Waits until the names in the directory are on disk.
    ///
    /// # Errors
    /// The errno of fsync.
    pub fn sync(&self, path: &Path) -> Result<(), RootError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.dir, ".", flags, Mode::empty()) {
            Ok(dir) => crate::state::sync(&dir, path),
            // A directory that is writable but not readable cannot be synced by itself.
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(failed(path, "open", errno)),
        }
    }
}

/// Whether a user may decide where this process writes: root and the user that it runs for.
fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Puts the target of a link before the other names; returns the directory that an absolute target starts in.
fn follow(link: &OwnedFd, rest: &mut VecDeque<OsString>) -> Result<Option<OwnedFd>, Errno> {
    let target = rustix::fs::readlinkat(link, "", Vec::new())?;
    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
    let mut names = VecDeque::new();
    let start = open_start(&target, &mut names)?;
    names.append(rest);
    *rest = names;
    Ok(target.is_absolute().then_some(start))
}

/// Splits a path, and opens the directory that it starts in. A blank path has no name, and `x/` is a directory.
fn open_start(path: &Path, names: &mut VecDeque<OsString>) -> Result<OwnedFd, Errno> {
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push_back(name.to_owned()),
            Component::ParentDir => names.push_back(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    let start = if path.is_absolute() { "/" } else { "." };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, start, flags, Mode::empty())
}

fn link_flags() -> OFlags {
    OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn is_in_proc(dir: &OwnedFd) -> bool {
    // The size of this field differs on 32-bit machines.
    rustix::fs::fstatfs(dir).is_ok_and(|stat| stat.f_type as u64 & 0xffff_ffff == PROC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn found(path: &Path) -> Result<(Option<u64>, OsString), Option<i32>> {
        Destination::of(path)
            .map(|found| (found.stat.map(|stat| stat.st_ino), found.name))
            .map_err(|error| error.errno())
    }

    #[test]
    fn own_links_resolve_as_the_kernel_resolves_them() {
        use std::os::unix::fs::MetadataExt;
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(top.join("a/b/file"), "").unwrap();
        for (target, link) in [
            ("a/b", "dir"),
            ("../b/file", "a/b/up"),
            ("dir/up", "chain"),
            ("a/b/new", "dangling"),
        ] {
            symlink(target, top.join(link)).unwrap();
        }
        symlink(top.join("chain"), top.join("absolute")).unwrap();
        let inode = top.join("a/b/file").metadata().unwrap().ino();
        for path in [
            "a/b/file",
            "dir/file",
            "a/b/up",
            "chain",
            "absolute",
            "a/../a/./b/file",
            "dir/../b/up",
        ] {
            let name = OsString::from("file");
            assert_eq!(found(&top.join(path)), Ok((Some(inode), name)), "{path}");
        }
        for (path, name) in [("dangling", "new"), ("dir/none", "none")] {
            assert_eq!(found(&top.join(path)), Ok((None, OsString::from(name))), "{path}");
        }
    }

    #[test]
    fn paths_without_a_file_name_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        std::fs::create_dir(top.join("dir")).unwrap();
        std::fs::write(top.join("file"), "").unwrap();
        symlink("loop", top.join("loop")).unwrap();
        for (path, errno) in [
            ("none/x", libc::ENOENT),
            ("file/x", libc::ENOTDIR),
            ("loop", libc::ELOOP),
            ("dir/..", libc::EISDIR),
            ("none/..", libc::ENOENT),
        ] {
            assert_eq!(found(&top.join(path)), Err(Some(errno)), "{path}");
        }
        assert_eq!(found(Path::new("")), Err(Some(libc::ENOENT)));
        assert_eq!(found(Path::new("/")), Err(Some(libc::EISDIR)));
    }
}
