//! Keeps a directory of a machine open while many files below it are read.
//!
//! With a hundred thousand threads the kernel would otherwise walk `/proc/PID/task` once for every file of every
//! thread, and look up the process each time.

use crate::error::{OnPath, failed, is_absence};
use crate::live::read_record;
use crate::{Backend, Root, RootError, folder};
use rustix::fs::{Mode, OFlags, RawDir};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// A directory; held open if the root is in the file system.
pub struct DirectoryHandle<'r> {
    root: &'r Root,
    path: String,
    dir: Option<OwnedFd>,
}

impl Root {
    /// Opens a directory; `None` if it does not exist.
    ///
    /// # Errors
    /// [`RootError`] for every reason except absence.
    pub fn place(&self, path: &str) -> Result<Option<DirectoryHandle<'_>>, RootError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let place = |dir| DirectoryHandle {
            root: self,
            path: path.trim_end_matches('/').to_owned(),
            dir,
        };
        let dir = match &self.backend {
            Backend::Live(live) => rustix::fs::open(live.locate(path), flags, Mode::empty()).if_there(path, "list")?,
            Backend::Folder(folder) => folder.reach(path, flags)?,
            // An archive has no descriptors, and needs none.
            Backend::Archive(_) => {
                return Ok(self.entries(path)?.map(|_| place(None)));
            }
        };
        Ok(dir.map(|dir| place(Some(dir))))
    }
}

impl DirectoryHandle<'_> {
    /// The names in it that are decimal numbers, in ascending order.
    ///
    /// # Errors
    /// The error of reading the directory.
    pub fn numbers(&self) -> Result<Vec<u32>, RootError> {
        let mut numbers = Vec::new();
        match &self.dir {
            None => {
                let names = self.root.names(&self.path)?.unwrap_or_default();
                numbers.extend(names.iter().filter_map(|name| name.parse::<u32>().ok()));
            }
            Some(dir) => {
                let mut buffer = [MaybeUninit::uninit(); 4096];
                let mut listing = RawDir::new(dir, &mut buffer);
                while let Some(entry) = listing.next() {
                    match entry {
                        Ok(entry) => {
                            let name = entry.file_name().to_str().ok();
                            numbers.extend(name.and_then(|name| name.parse::<u32>().ok()));
                        }
                        // The directory of a task vanishes with the task.
                        Err(errno) if is_absence(errno) => break,
                        Err(errno) => return Err(failed(&self.path, "list", errno)),
                    }
                }
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The full path of a name below it.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// As [`Root::record_into`], for a name below it.
    ///
    /// # Errors
    /// As [`Root::record_into`].
    pub fn record_into(&self, name: &str, content: &mut Vec<u8>) -> Result<bool, RootError> {
        content.clear();
        let file = match (&self.root.backend, &self.dir) {
            (Backend::Live(_), Some(dir)) => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
                match rustix::fs::openat(dir, name, flags, Mode::empty()) {
                    Ok(file) => file,
                    Err(errno) if is_absence(errno) => return Ok(false),
                    Err(errno) => return Err(failed(self.path_of(name), "open", errno)),
                }
            }
            (Backend::Folder(_), Some(dir)) => {
                match folder::open_beneath(dir, name) {
                    Some((file, size)) => {
                        return folder::read_file(&file, size, &self.path_of(name), u64::MAX, content);
                    }
                    // Absent, hostile, or a link that leaves this directory but not the root: the slow path decides.
                    None => return self.root.bytes_into(&self.path_of(name), content),
                }
            }
            _ => return self.root.bytes_into(&self.path_of(name), content),
        };
        // The slow path again: its error has the full path.
        read_record(&file, name, content).or_else(|_| self.root.bytes_into(&self.path_of(name), content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow path and the fast path give the same bytes, names and refusals.
    #[test]
    fn reading_through_an_open_directory_equals_reading_by_path() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for tid in [9, 10, 100] {
            std::fs::create_dir_all(top.join(format!("proc/9/task/{tid}"))).unwrap();
            std::fs::write(top.join(format!("proc/9/task/{tid}/stat")), format!("{tid} (x)")).unwrap();
        }
        std::fs::write(top.join("proc/9/comm"), "outside the place").unwrap();
        std::fs::create_dir(top.join("proc/9/task/word")).unwrap();
        let links = [
            ("../../../9/comm", "10/upwards"),
            ("/proc/9/comm", "10/absolute"),
            ("../../../../../etc/passwd", "10/out"),
            ("nothing", "10/dangling"),
        ];
        for (target, link) in links {
            std::os::unix::fs::symlink(target, top.join("proc/9/task").join(link)).unwrap();
        }
        let archive = top.with_extension("tar");
        let mut tar = tar::Builder::new(std::fs::File::create(&archive).unwrap());
        tar.follow_symlinks(false);
        tar.append_dir_all(".", top).unwrap();
        tar.into_inner().unwrap();
        let rehearsal = crate::Live::rehearsal(top);
        let roots = [
            ("folder", Root::open(top).unwrap()),
            ("archive", Root::open(&archive).unwrap()),
            ("live", Root::of(&rehearsal)),
        ];
        for (what, root) in &roots {
            let place = root.place("/proc/9/task/").unwrap().unwrap();
            assert_eq!(place.numbers().unwrap(), [9, 10, 100], "{what}");
            let mut content = Vec::new();
            let (mut here, mut there) = (Vec::new(), Vec::new());
            for name in ["9/stat", "100/stat", "7/stat", "9", "10/upwards", "10/dangling"] {
                let short = place.record_into(name, &mut here);
                let long = root.bytes_into(&format!("/proc/9/task/{name}"), &mut there);
                assert_eq!(
                    format!("{short:?} {here:?}"),
                    format!("{long:?} {there:?}"),
                    "{what} {name}"
                );
            }
            // A rehearsal represents a live machine, whose links are followed without restriction.
            if *what != "live" {
                assert!(place.record_into("10/absolute", &mut content).unwrap(), "{what}");
                assert_eq!(content, b"outside the place", "{what}");
                let out = place.record_into("10/out", &mut content);
                assert!(out.is_err(), "{what}: {out:?}");
            }
            assert!(root.place("/proc/10/task").unwrap().is_none(), "{what}");
        }
        std::fs::remove_file(archive).unwrap();
    }
}
