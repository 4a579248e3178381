//! Appends to a file of the state directory: a record is written completely or not at all.
//!
//! A journal gets about eighty records in a row. Its file is opened and checked for the first of them. For the others,
//! one lookup in the directory shows whether the name still belongs to the checked file.

use super::{AppendDurability, StateDir, sync};
use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::fs::{AtFlags, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::PoisonError;

/// The file of the most recent append.
#[derive(Debug)]
pub(super) struct AppendedFile {
    name: String,
    file: OwnedFd,
    /// Its status before the last append.
    stat: Stat,
}

impl StateDir {
    /// Appends a record with exactly one `write(2)`, and creates the file if it is missing. If the kernel writes only a
    /// part (a full disk), the file is truncated to its old length and an error is returned. So a record is written
    /// completely or not at all, unless the machine crashes during the write.
    ///
    /// # Errors
    /// The errno of open, write (`ENOSPC`) or fsync; [`RootError::FrameState`] for an unsafe name or file.
    pub fn append(&self, name: &str, record: &[u8], durability: AppendDurability) -> Result<(), RootError> {
        let place = self.made_place(name)?;
        let shown = self.display_path(name);
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        // A panic while it was held leaves a whole value or none.
        let mut held = self.appended.lock().unwrap_or_else(PoisonError::into_inner);
        let last = match held.take().and_then(|last| last.still(self, name)) {
            Some(last) => last,
            None => {
                let file = self
                    .open_file(&place, flags)?
                    .ok_or_else(|| failed(&shown, "open", Errno::NOENT))?;
                let stat = rustix::fs::fstat(&file).on(&shown, "stat")?;
                let name = name.to_owned();
                AppendedFile { name, file, stat }
            }
        };
        let AppendedFile { file, stat, .. } = held.insert(last);
        let outcome = match rustix::io::retry_on_intr(|| rustix::io::write(&*file, record)) {
            Ok(written) if written == record.len() => match durability {
                AppendDurability::Kernel => Ok(()),
                AppendDurability::Disk => sync(file, &shown).and_then(|()| sync(place.dir(self), &shown)),
            },
            // On a full disk the file system writes what fits and reports the error only at the next write.
            Ok(_) => Err(failed(&shown, "append", Errno::NOSPC)),
            Err(errno) => Err(failed(&shown, "append", errno)),
        };
        if outcome.is_err() {
            let old_len = u64::try_from(stat.st_size).unwrap_or(0);
            rustix::fs::ftruncate(&*file, old_len).map_err(|errno| RootError::State {
                path: shown,
                what: format!(
                    "a record was written in part and could not be removed ({errno}); free some space there, then run \
                     `quietcore undo`, which ignores an incomplete last record"
                ),
            })?;
        } else if let Ok(now) = rustix::fs::fstat(&*file) {
            self.appended_to(name, (stat, &now), record);
        }
        outcome
    }
}

impl AppendedFile {
    /// The file with its current status, if the name still belongs to it.
    fn still(self, state: &StateDir, name: &str) -> Option<AppendedFile> {
        // The name of a file in a subdirectory is not looked up here, so it is never the same.
        if self.name != name || name.contains('/') {
            return None;
        }
        let stat = rustix::fs::statat(&state.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_same = stat.st_dev == self.stat.st_dev && stat.st_ino == self.stat.st_ino;
        is_same.then_some(AppendedFile { stat, ..self })
    }
}
