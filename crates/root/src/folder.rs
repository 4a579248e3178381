//! Reads a captured machine in a directory that was unpacked or copied.
//!
//! The kernel resolves the whole path in one call and refuses to leave the directory (`openat2`, 5.6 and later). If that fails,
//! for an absolute link or because the call is missing, we walk name by name ourselves, and open each without following links.

use crate::error::{OnPath, failed, is_absence};
use crate::files::{CLIMBS_OUT, FileQueries, LOOPS, MAX_LINKS, TOP_NAMES, hostile, not_a_machine};
use crate::live::{each_line, kind_of, list, read_whole};
use crate::{DirectoryEntry, DirectoryEntryType, PathKind, RootError};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files up to this size are read with one call.
const SMALL_FILE: u64 = 1 << 16;

pub(crate) struct Folder {
    dir: OwnedFd,
    /// Cleared if the kernel (or a sandbox) does not support `openat2`.
    has_openat2: AtomicBool,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Folder, RootError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).on(path, "open")?;
        let folder = Folder {
            dir,
            has_openat2: AtomicBool::new(true),
        };
        if folder.is_machine()? {
            return Ok(folder);
        }
        let entries = folder.entries("/")?.unwrap_or_default();
        let mut folders = entries.iter().filter(|entry| entry.kind == DirectoryEntryType::Dir);
        let (Some(only), None) = (folders.next(), folders.next()) else {
            return Err(not_a_machine(path));
        };
        let dir = rustix::fs::openat(&folder.dir, &only.name, flags | OFlags::NOFOLLOW, Mode::empty())
            .on(&only.name, "open")?;
        let folder = Folder {
            dir,
            has_openat2: AtomicBool::new(true),
        };
        if folder.is_machine()? {
            Ok(folder)
        } else {
            Err(not_a_machine(path))
        }
    }

    fn is_machine(&self) -> Result<bool, RootError> {
        for name in TOP_NAMES {
            if self.kind(name)? == Some(PathKind::Dir) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn stat(&self, path: &str) -> Result<Option<Stat>, RootError> {
        let Some(file) = self.reach(path, OFlags::PATH)? else {
            return Ok(None);
        };
        let stat = rustix::fs::fstat(&file).on(path, "stat")?;
        Ok(Some(stat))
    }

    /// Opens a regular file, with its size, and refuses everything else.
    fn open_file(&self, path: &str) -> Result<Option<(OwnedFd, u64)>, RootError> {
        // NONBLOCK: opening a fifo must not wait for a writer.
        let Some(file) = self.reach(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)? else {
            return Ok(None);
        };
        let stat = rustix::fs::fstat(&file).on(path, "stat")?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some((file, u64::try_from(stat.st_size).unwrap_or(0)))),
            FileType::Directory => Ok(None),
            _ => Err(hostile(path, "it is a device, a pipe or a socket")),
        }
    }

    /// The only function that turns a path of the captured machine into a descriptor.
    pub(crate) fn reach(&self, path: &str, flags: OFlags) -> Result<Option<OwnedFd>, RootError> {
        let flags = flags | OFlags::CLOEXEC;
        let relative = path.trim_matches('/');
        let relative = if relative.is_empty() { "." } else { relative };
        if self.has_openat2.load(Ordering::Relaxed) {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&self.dir, relative, flags, Mode::empty(), resolve) {
                Ok(file) => return Ok(Some(file)),
                Err(errno) if is_absence(errno) => return Ok(None),
                // EPERM: the answer of sandboxes that do not know the call.
                Err(Errno::NOSYS | Errno::PERM) => self.has_openat2.store(false, Ordering::Relaxed),
                // EXDEV: an absolute link, or one that leaves the root. ELOOP: a loop. EAGAIN: a concurrent rename.
                Err(Errno::XDEV | Errno::LOOP | Errno::AGAIN) => {}
                Err(errno) => return Err(failed(path, "open", errno)),
            }
        }
        self.walk(path, relative, flags)
    }

    fn walk(&self, path: &str, relative: &str, flags: OFlags) -> Result<Option<OwnedFd>, RootError> {
        let mut way: Vec<OwnedFd> = Vec::new();
        let mut pending: Vec<Vec<u8>> = Vec::new();
        push_names(&mut pending, relative.as_bytes());
        let mut links = 0;
        while let Some(name) = pending.pop() {
            let at = way.last().unwrap_or(&self.dir);
            if name == b".." {
                if way.pop().is_none() {
                    return Err(hostile(path, CLIMBS_OUT));
                }
                continue;
            }
            let stat = rustix::fs::statat(at, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
            let Some(stat) = stat.if_there(path, "open")? else {
                return Ok(None);
            };
            let is_last = pending.is_empty();
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(hostile(path, LOOPS));
                    }
                    let target = rustix::fs::readlinkat(at, name.as_slice(), Vec::new()).on(path, "open")?;
                    if target.as_bytes().starts_with(b"/") {
                        way.clear();
                    }
                    push_names(&mut pending, target.as_bytes());
                    continue;
                }
                FileType::Directory => {}
                FileType::RegularFile if is_last => {}
                FileType::RegularFile => return Ok(None),
                _ if is_last && flags.contains(OFlags::PATH) => {}
                _ => return Err(hostile(path, "it is a device, a pipe or a socket")),
            }
            let open_flags = if is_last {
                flags
            } else {
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
            };
            let opened = rustix::fs::openat(at, name.as_slice(), open_flags | OFlags::NOFOLLOW, Mode::empty());
            match opened.if_there(path, "open")? {
                Some(dir) if !is_last => way.push(dir),
                file => return Ok(file),
            }
        }
        // The path ended in `..` or is the root itself.
        let at = way.last().unwrap_or(&self.dir);
        rustix::fs::openat(at.as_fd(), ".", flags, Mode::empty()).if_there(path, "open")
    }
}

impl FileQueries for Folder {
    fn bytes_into(&self, path: &str, limit: u64, content: &mut Vec<u8>) -> Result<bool, RootError> {
        match self.open_file(path)? {
            Some((file, size)) => read_file(&file, size, path, limit, content),
            None => Ok(false),
        }
    }

    fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> Result<bool, RootError> {
        let Some((file, _)) = self.open_file(path)? else {
            return Ok(false);
        };
        each_line(std::fs::File::from(file), path, each)
    }

    fn entries(&self, path: &str) -> Result<Option<Vec<DirectoryEntry>>, RootError> {
        match self.reach(path, OFlags::RDONLY | OFlags::DIRECTORY)? {
            Some(dir) => list(dir, path),
            None => Ok(None),
        }
    }

    fn mode(&self, path: &str) -> Result<Option<u32>, RootError> {
        Ok(self.stat(path)?.map(|stat| stat.st_mode & 0o7777))
    }

    fn kind(&self, path: &str) -> Result<Option<PathKind>, RootError> {
        Ok(self.stat(path)?.and_then(|stat| kind_of(stat.st_mode)))
    }

    fn link(&self, path: &str) -> Result<Option<String>, RootError> {
        let trimmed = path.trim_end_matches('/');
        let (above, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        let Some(dir) = self.reach(above, OFlags::PATH | OFlags::DIRECTORY)? else {
            return Ok(None);
        };
        match rustix::fs::readlinkat(&dir, name, Vec::new()) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            // EINVAL: it exists, but is not a link.
            Err(errno) if is_absence(errno) || errno == Errno::INVAL => Ok(None),
            Err(errno) => Err(failed(path, "readlink", errno)),
        }
    }
}

/// Reads a file with a known size, as far as a file system knows it.
pub(crate) fn read_file(
    file: &OwnedFd,
    size: u64,
    path: &str,
    limit: u64,
    content: &mut Vec<u8>,
) -> Result<bool, RootError> {
    // Unlike kernel files, files on disk have a size: a read of that many bytes was the last.
    if size > 0 && size <= limit.min(SMALL_FILE) {
        content.reserve(usize::try_from(size).unwrap_or(0) + 1);
        if rustix::io::read(file, rustix::buffer::spare_capacity(content)) == Ok(size as usize) {
            return Ok(true);
        }
    }
    read_whole(file, path, limit, content)
}

/// Opens a regular file below an open directory, with its size. `None` for everything that needs the slow path:
/// absence, links that leave the directory, devices, kernels without `openat2`.
pub(crate) fn open_beneath(dir: &OwnedFd, name: &str) -> Option<(OwnedFd, u64)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file.then(|| (file, u64::try_from(stat.st_size).unwrap_or(0)))
}

/// Pushes the names of a path onto a stack, the first one on top.
fn push_names(pending: &mut Vec<Vec<u8>>, path: &[u8]) {
    let names = path
        .rsplit(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".");
    pending.extend(names.map(<[u8]>::to_vec));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const LINKS: [(&str, &str); 7] = [
        ("../proc/1", "sys/relative"),
        ("/proc/1/stat", "sys/absolute"),
        ("../../sys/relative/stat", "sys/a/chain"),
        ("a/b/../../..", "sys/top"),
        ("../../outside", "sys/out"),
        ("loop", "sys/loop"),
        ("nothing", "sys/dangling"),
    ];

    const PATHS: [&str; 20] = [
        "/proc/1/stat",
        "proc/1/stat",
        "/proc/1/stat/x",
        "/proc/1",
        "/proc",
        "/",
        "",
        "/absent",
        "/proc/./1//stat",
        "/proc/../proc/1/stat",
        "/..",
        "/sys/relative/stat",
        "/sys/absolute",
        "/sys/absolute/x",
        "/sys/a/chain",
        "/sys/top/proc/1/stat",
        "/sys/out",
        "/sys/out/x",
        "/sys/loop",
        "/sys/dangling",
    ];

    /// Old kernels and sandboxes have no `openat2`: walking manually must give the same results.
    #[test]
    fn openat2_and_the_manual_walk_agree() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        std::fs::create_dir_all(top.join("proc/1")).unwrap();
        std::fs::create_dir_all(top.join("sys/a/b")).unwrap();
        std::fs::write(top.join("proc/1/stat"), "content").unwrap();
        for (target, link) in LINKS {
            symlink(target, top.join(link)).unwrap();
        }
        let kernel = Folder::open(top).unwrap();
        let by_hand = Folder::open(top).unwrap();
        by_hand.has_openat2.store(false, Ordering::Relaxed);
        let bytes = |folder: &Folder, path: &str| {
            let mut content = Vec::new();
            let found = folder.bytes_into(path, u64::MAX, &mut content)?;
            Ok::<_, RootError>(found.then_some(content))
        };
        let mut contents = 0;
        let mut refusals = 0;
        for path in PATHS {
            let found = bytes(&by_hand, path);
            assert_eq!(format!("{:?}", bytes(&kernel, path)), format!("{found:?}"), "{path}");
            assert_eq!(
                format!("{:?}", kernel.kind(path)),
                format!("{:?}", by_hand.kind(path)),
                "{path}"
            );
            assert_eq!(
                format!("{:?}", kernel.entries(path)),
                format!("{:?}", by_hand.entries(path)),
                "{path}"
            );
            assert_eq!(
                format!("{:?}", kernel.link(path)),
                format!("{:?}", by_hand.link(path)),
                "{path}"
            );
            contents += usize::from(matches!(found, Ok(Some(_))));
            refusals += usize::from(found.is_err());
        }
        assert_eq!((contents, refusals), (8, 4));
    }
}
