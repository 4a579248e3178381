//! Journals of what was undone, in the directory `history` of the state.

use super::{Journal, Storage, decode_file};
use crate::{ApplyError, JournalRecord};

/// Their directory.
const DIR: &str = "history";

/// How many journals of what was undone are kept. Leases come and go all day, and the directory is in memory.
const NEWEST: usize = 200;

/// What was done on this boot, as far as it is kept.
#[derive(Debug, Default)]
pub struct History {
    /// Every readable journal.
    pub journals: Vec<Vec<JournalRecord>>,
    /// Why the others cannot be read, for example because a newer version wrote them.
    pub unreadable: Vec<ApplyError>,
}

/// Reads every journal: the retired ones, oldest first, then the active one.
///
/// # Errors
/// The error of listing or reading, or an active journal that cannot be decoded.
pub fn history(storage: &dyn Storage) -> Result<History, ApplyError> {
    let mut history = History::default();
    for name in storage.names(DIR)? {
        let name = format!("{DIR}/{name}");
        if let Some(bytes) = storage.read(&name)? {
            match decode_file(&bytes, &name) {
                Ok(records) => history.journals.push(records),
                Err(error) => history.unreadable.push(error),
            }
        }
    }
    if let Some(journal) = Journal::open(storage)? {
        history.journals.push(journal.records);
    }
    Ok(history)
}

/// The file of a journal that started then. Nanoseconds sort chronologically, and no two journals start in the same one.
pub(super) fn name(start_ns: u64) -> String {
    format!("{DIR}/{start_ns:020}")
}

/// Removes the oldest journals. What cannot be removed is tried again with the next journal; nothing depends on it.
pub(super) fn limit(storage: &dyn Storage) {
    let names = storage.names(DIR).unwrap_or_default();
    let excess = names.len().saturating_sub(NEWEST);
    for name in names.iter().take(excess) {
        let _ = storage.remove(&format!("{DIR}/{name}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JournalEvent;
    use root::state::StateDir;

    #[test]
    fn the_oldest_journals_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::create(&temp.path().join("state")).unwrap();
        for at in 0..NEWEST as u64 + 3 {
            state.replace(&name(at), b"").unwrap();
        }
        let mut journal = Journal::create(&state);
        journal.append(JournalEvent::Undone { layer: None }).unwrap();
        journal.retire().unwrap();
        let names = state.names(DIR).unwrap();
        assert_eq!((names.len(), names[0].as_str()), (NEWEST, "00000000000000000004"));
    }
}
