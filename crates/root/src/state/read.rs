//! Reads a file of the state directory, and reads it again only if it has changed.
//!
//! A command reads the journal several times. If directory entry, length and times are unchanged, so are the bytes: a
//! journal only grows, or is replaced by another file.

use super::{MissingDirectory, StateDir};
use crate::RootError;
use crate::error::OnPath;
use rustix::fs::{AtFlags, OFlags, Stat};
use std::fs::File;
use std::io::Read;
use std::sync::{MutexGuard, PoisonError};

/// A file and its content when it was read.
#[derive(Debug)]
pub(super) struct ReadFile {
    name: String,
    stamp: Stamp,
    content: Vec<u8>,
}

/// What changes with the content: device, inode, length, times of change in seconds and nanoseconds.
type Stamp = (u64, u64, i64, [i64; 4]);

impl StateDir {
    /// The whole content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// The errno of open or read; [`RootError::FrameState`] for anything that is not a plain file of ours.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RootError> {
        if let Some(content) = self.unchanged(name) {
            return Ok(Some(content));
        }
        let Some(place) = self.place(name, MissingDirectory::Leave)? else {
            return Ok(None);
        };
        let Some(file) = self.open_file(&place, OFlags::RDONLY)? else {
            return Ok(None);
        };
        let shown = self.display_path(name);
        let stat = |file: &File| rustix::fs::fstat(file).on(&shown, "stat");
        let mut file = File::from(file);
        let before = stamp(&stat(&file)?);
        let mut content = Vec::new();
        file.read_to_end(&mut content).on(&shown, "read")?;
        // A file that grew while it was read is read again the next time.
        if stamp(&stat(&file)?) == before {
            self.remember(name, before, &content);
        }
        Ok(Some(content))
    }

    /// The cached content, if the file with this name is still the same. Only files directly in this directory are cached.
    fn unchanged(&self, name: &str) -> Option<Vec<u8>> {
        let known = self.known();
        let file = known.iter().find(|file| file.name == name)?;
        let stat = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (stamp(&stat) == file.stamp).then(|| file.content.clone())
    }

    /// Updates the cache after an append: the previous content plus the record is the whole file, if nothing else wrote to it.
    pub(super) fn appended_to(&self, name: &str, (before, now): (&Stat, &Stat), record: &[u8]) {
        let mut known = self.known();
        let was_read = |file: &&mut ReadFile| file.name == name && file.stamp == stamp(before);
        let Some(file) = known.iter_mut().find(was_read) else {
            return;
        };
        file.content.extend_from_slice(record);
        if u64::try_from(now.st_size) == u64::try_from(file.content.len()) {
            file.stamp = stamp(now);
        }
    }

    fn remember(&self, name: &str, stamp: Stamp, content: &[u8]) {
        if name.contains('/') {
            return;
        }
        let mut known = self.known();
        known.retain(|file| file.name != name);
        known.push(ReadFile {
            name: name.to_owned(),
            stamp,
            content: content.to_vec(),
        });
    }

    fn known(&self) -> MutexGuard<'_, Vec<ReadFile>> {
        // A panic leaves a whole value or none.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn stamp(stat: &Stat) -> Stamp {
    (
        stat.st_dev as u64,
        stat.st_ino as u64,
        stat.st_size as i64,
        [
            stat.st_mtime as i64,
            stat.st_mtime_nsec as i64,
            stat.st_ctime as i64,
            stat.st_ctime_nsec as i64,
        ],
    )
}

#[cfg(test)]
mod tests {
    use crate::state::{AppendDurability, StateDir};

    /// Every change of the file, by this process or by another one, is noticed.
    #[test]
    fn a_file_that_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let (ours, theirs) = (StateDir::create(&path).unwrap(), StateDir::create(&path).unwrap());
        let read = || {
            ours.read("journal")
                .unwrap()
                .map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(read(), None);
        theirs.append("journal", b"one\n", AppendDurability::Kernel).unwrap();
        for _ in 0..3 {
            assert_eq!(read().as_deref(), Some("one\n"));
        }
        theirs.append("journal", b"two\n", AppendDurability::Kernel).unwrap();
        assert_eq!(read().as_deref(), Some("one\ntwo\n"));
        ours.append("journal", b"three\n", AppendDurability::Kernel).unwrap();
        assert_eq!(read().as_deref(), Some("one\ntwo\nthree\n"));
        theirs.append("journal", b"four\n", AppendDurability::Kernel).unwrap();
        ours.append("journal", b"five\n", AppendDurability::Kernel).unwrap();
        assert_eq!(read().as_deref(), Some("one\ntwo\nthree\nfour\nfive\n"));
        theirs.replace("journal", b"uno\ntwo\nthree\n").unwrap();
        assert_eq!(read().as_deref(), Some("uno\ntwo\nthree\n"), "of the same length");
        theirs.rename("journal", "history/1").unwrap();
        assert_eq!(read(), None);
        theirs.rename("history/1", "journal").unwrap();
        assert_eq!(read().as_deref(), Some("uno\ntwo\nthree\n"));
        theirs.remove("journal").unwrap();
        assert_eq!(read(), None);
    }
}
