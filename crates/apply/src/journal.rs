//! Stores the journal on disk, one line per record ([`crate::framing`]), so that a torn last line is recognised.
//!
//! `/run/quietcore/journal` exists only while something is active. A full undo renames it into `history/`.

mod history;

pub use history::{History, history};

use crate::framing::{FramingError, VERSION, decode_line, encode, is_torn, now_ns};
use crate::layers::{ApplyLayer, LayerState, layers};
use crate::resize_record::Resize;
use crate::{ApplyError, JournalEvent, JournalRecord};
use root::RootError;
use root::state::{AppendDurability, RUN_DIR, StateDir};

const NAME: &str = "journal";

/// Where journals are stored. Production code uses [`StateDir`]; tests use one that fails on purpose.
pub trait Storage {
    /// Reads the whole journal; `None` when nothing is active.
    ///
    /// # Errors
    /// The read error.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RootError>;
    /// Appends with one `write(2)`.
    ///
    /// # Errors
    /// The write error; nothing was appended.
    fn append(&self, name: &str, record: &[u8]) -> Result<(), RootError>;
    /// Atomically creates or replaces a file: no reader ever sees half of it, or none.
    ///
    /// # Errors
    /// The write error; the former file is unchanged.
    fn replace(&self, name: &str, content: &[u8]) -> Result<(), RootError>;
    /// Renames a file.
    ///
    /// # Errors
    /// The rename error.
    fn rename(&self, from: &str, to: &str) -> Result<(), RootError>;
    /// Removes a file.
    ///
    /// # Errors
    /// The error of the removal.
    fn remove(&self, name: &str) -> Result<(), RootError>;
    /// Lists the names in a sub-directory, sorted.
    ///
    /// # Errors
    /// The error of the listing.
    fn names(&self, sub: &str) -> Result<Vec<String>, RootError>;
}

/// What is stored in a state directory, with the durability of appended records.
pub trait StateStorage {
    /// Whether an append has to reach the disk before the next step.
    const DURABILITY: AppendDurability;
    /// The directory.
    fn dir(&self) -> &StateDir;
}

impl StateStorage for StateDir {
    // No fsync: the page cache survives a killed process, and a kernel crash loses the run-time state anyway.
    const DURABILITY: AppendDurability = AppendDurability::Kernel;

    fn dir(&self) -> &StateDir {
        self
    }
}

/// A state directory whose files survive a crash of the machine: every append reaches the disk before the next step.
pub struct DurableStorage<'a>(pub &'a StateDir);

impl StateStorage for DurableStorage<'_> {
    const DURABILITY: AppendDurability = AppendDurability::Disk;

    fn dir(&self) -> &StateDir {
        self.0
    }
}

impl<T: StateStorage> Storage for T {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RootError> {
        self.dir().read(name)
    }

    fn append(&self, name: &str, record: &[u8]) -> Result<(), RootError> {
        self.dir().append(name, record, T::DURABILITY)
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), RootError> {
        self.dir().replace(name, content)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), RootError> {
        self.dir().rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), RootError> {
        self.dir().remove(name)
    }

    fn names(&self, sub: &str) -> Result<Vec<String>, RootError> {
        self.dir().names(sub)
    }
}

/// An open journal: its records, and where the next one goes.
pub struct Journal<'a> {
    storage: &'a dyn Storage,
    records: Vec<JournalRecord>,
    torn: bool,
    /// Whether this version wrote the last record. Cached, because finding out means reading back to the start of the apply.
    is_ours: bool,
}

/// How far the last apply or undo got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalState {
    /// Every change was made.
    InForce,
    /// An apply or an undo was interrupted.
    Unfinished,
    /// A partition is being recreated, and the journal ends between two steps of that.
    Resizing,
    /// It belongs to an earlier boot.
    Void,
    /// Everything was undone, but the journal was not retired yet.
    Ended,
}

impl<'a> Journal<'a> {
    /// Opens the journal; `None` when nothing is active.
    ///
    /// # Errors
    /// [`ApplyError::Journal`] for a damaged record that is not the last.
    pub fn open(storage: &'a dyn Storage) -> Result<Option<Journal<'a>>, ApplyError> {
        let Some(bytes) = storage.read(NAME)? else {
            return Ok(None);
        };
        let records = decode(&bytes)?;
        // If the very first record is missing or torn, no write followed it.
        Ok((!records.is_empty()).then_some(Journal {
            storage,
            torn: is_torn(&bytes),
            is_ours: writer(&records) == Some(VERSION),
            records,
        }))
    }

    /// Removes a journal without a complete record: its process died before it could change anything.
    ///
    /// # Errors
    /// The error of reading or removing; [`ApplyError::Journal`] for a damaged journal, which is kept.
    pub fn sweep(storage: &dyn Storage) -> Result<(), ApplyError> {
        match storage.read(NAME)? {
            Some(bytes) if decode(&bytes)?.is_empty() => Ok(storage.remove(NAME)?),
            _ => Ok(()),
        }
    }

    /// Creates a new journal, empty until the first record.
    #[must_use]
    pub fn create(storage: &'a dyn Storage) -> Journal<'a> {
        Journal {
            storage,
            records: Vec::new(),
            torn: false,
            is_ours: false,
        }
    }

    /// The records, in order.
    #[must_use]
    pub fn records(&self) -> &[JournalRecord] {
        &self.records
    }

    /// How far the last apply or undo of this journal got, given the current boot ID.
    #[must_use]
    pub fn state(&self, boot_id: Option<&str>) -> JournalState {
        let layers = self.layers();
        if let (Some(first), Some(now)) = (layers.first(), boot_id)
            && first.boot_id != now
        {
            return JournalState::Void;
        }
        let is_open = |layer: &ApplyLayer| matches!(layer.state, LayerState::Applying | LayerState::Undoing);
        if layers.is_empty() || layers.iter().any(is_open) {
            JournalState::Unfinished
        } else if Resize::open(&self.records).is_some() {
            JournalState::Resizing
        } else if !layers.iter().any(ApplyLayer::is_live) {
            JournalState::Ended
        } else {
            JournalState::InForce
        }
    }

    /// All applies in the journal, first to last.
    #[must_use]
    pub fn layers(&self) -> Vec<ApplyLayer<'_>> {
        layers(&self.records)
    }

    /// Appends a record and returns its number.
    ///
    /// # Errors
    /// The storage error. A full `/run` is detected here, before the machine is changed.
    pub fn append(&mut self, event: JournalEvent) -> Result<u64, ApplyError> {
        let seq = next_seq(&self.records);
        let is_named = event.tool().is_some() || self.is_ours;
        let record = JournalRecord {
            seq,
            at_ns: now_ns(),
            by: (!is_named).then(|| VERSION.to_owned()),
            event,
        };
        let mut line = encode(&record)?;
        if self.torn {
            line.insert(0, b'\n');
        }
        self.storage.append(NAME, &line)?;
        self.torn = false;
        self.is_ours = true;
        self.records.push(record);
        Ok(seq)
    }

    /// Rewrites the journal with only these records, which keep their numbers.
    ///
    /// # Errors
    /// The write error; the journal is unchanged.
    pub(crate) fn retain(&mut self, is_needed: impl Fn(&JournalRecord) -> bool) -> Result<(), ApplyError> {
        let needed: Vec<JournalRecord> = self
            .records
            .iter()
            .filter(|record| is_needed(record))
            .cloned()
            .collect();
        self.storage.replace(NAME, &text(&needed)?)?;
        self.is_ours = writer(&needed) == Some(VERSION);
        self.records = needed;
        self.torn = false;
        Ok(())
    }

    /// Moves everything before the first layer that is active into the history. Nothing was active before that
    /// layer, so its own records hold the former state.
    ///
    /// # Errors
    /// The write error; the journal stays complete in any case.
    pub fn archive_finished_layers(&self) -> Result<(), ApplyError> {
        let layers = self.layers();
        let Some(first) = layers.iter().position(ApplyLayer::is_live) else {
            return Ok(());
        };
        let Some(begin) = layers.get(first).map(|layer| layer.seq) else {
            return Ok(());
        };
        let split = self.records.partition_point(|record| record.seq < begin);
        let (over, rest) = self.records.split_at(split);
        let ends_there = |layer: &ApplyLayer| {
            let is_end = |record: &JournalRecord| matches!(&record.event, JournalEvent::Undone { layer: Some(seq) } if *seq == layer.seq);
            over.iter().any(is_end)
        };
        // A layer that ended later was active when this one started, and shared things with it.
        let (Some(oldest), true) = (over.first(), layers.iter().take(first).all(ends_there)) else {
            return Ok(());
        };
        // A process that is killed between the two writes leaves these records in both files; the next call writes the
        // same file again.
        self.storage.replace(&history::name(oldest.at_ns), &text(over)?)?;
        self.storage.replace(NAME, &text(rest)?)?;
        history::limit(self.storage);
        Ok(())
    }

    /// Renames the journal into the history: nothing is active any more.
    ///
    /// # Errors
    /// The rename error.
    pub fn retire(self) -> Result<(), ApplyError> {
        let start_ns = self.records.first().map_or_else(now_ns, |record| record.at_ns);
        let past = history::name(start_ns);
        match self.storage.rename(NAME, &past) {
            // A process that was killed in `archive_finished_layers` left a copy of our first records there.
            Err(error) if error.errno() == Some(libc::EEXIST) => {
                self.storage.remove(&past)?;
                self.storage.rename(NAME, &past)?;
            }
            outcome => outcome?,
        }
        history::limit(self.storage);
        Ok(())
    }
}

/// Encodes records as lines.
fn text(records: &[JournalRecord]) -> Result<Vec<u8>, ApplyError> {
    let lines: Vec<Vec<u8>> = records.iter().map(encode).collect::<Result<_, _>>()?;
    Ok(lines.concat())
}

/// Decodes a journal. A torn record (the process was killed inside `write`) is ignored: its change was never made,
/// because records come first. What follows must be a fresh start of its own; anything else is damage.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<JournalRecord>, ApplyError> {
    decode_file(bytes, NAME)
}

fn decode_file(bytes: &[u8], name: &str) -> Result<Vec<JournalRecord>, ApplyError> {
    let mut records: Vec<JournalRecord> = Vec::new();
    let mut torn: Option<(usize, String)> = None;
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    for line in bytes[..complete]
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match (decode_line::<JournalRecord>(line), torn.take()) {
            (Ok(record), None) => records.push(record),
            // It has the number of the torn record, which was never counted.
            (Ok(record), Some(_)) if may_follow_torn(&record.event) && record.seq == next_seq(&records) => {
                records.push(record);
            }
            (Ok(_), Some((number, why))) => return Err(ApplyError::Journal { record: number, why }),
            (Err(FramingError::Torn(why)), _) => torn = Some((records.len() + 1, why)),
            (Err(FramingError::OtherVersion(line)), _) => {
                let file = format!("{RUN_DIR}/{name}");
                return Err(line.error(file, records.len() + 1, writer(&records)));
            }
        }
    }
    Ok(records)
}

/// The version that wrote the last record.
fn writer(records: &[JournalRecord]) -> Option<&str> {
    let mut newest_first = records.iter().rev();
    newest_first.find_map(|record| record.by.as_deref().or_else(|| record.event.tool()))
}

fn next_seq(records: &[JournalRecord]) -> u64 {
    records.last().map_or(1, |record| record.seq + 1)
}

fn may_follow_torn(event: &JournalEvent) -> bool {
    matches!(
        event,
        JournalEvent::UndoBegin { .. }
            | JournalEvent::Begin { .. }
            | JournalEvent::Joined { .. }
            | JournalEvent::Threading { .. }
            | JournalEvent::Moving { .. }
            | JournalEvent::Resizing { .. }
            | JournalEvent::Resized { .. }
            | JournalEvent::Mending { .. }
            | JournalEvent::Confirmed { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::{Journal, decode, encode};
    use crate::{JournalEvent, JournalRecord};
    use root::state::StateDir;

    fn journal(events: usize) -> Vec<u8> {
        let record = |seq| JournalRecord {
            seq,
            at_ns: 7,
            by: None,
            event: JournalEvent::Confirmed { layer: None },
        };
        (1..=events as u64)
            .flat_map(|seq| encode(&record(seq)).unwrap())
            .collect()
    }

    #[test]
    fn a_truncated_journal_keeps_its_complete_records() {
        let bytes = journal(3);
        let length = bytes.len() / 3;
        for cut in 0..=bytes.len() {
            assert_eq!(decode(&bytes[..cut]).unwrap().len(), cut / length, "cut at {cut}");
        }
    }

    #[test]
    fn finished_records_that_were_copied_but_not_cut_are_archived_once() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::create(&temp.path().join("state")).unwrap();
        // The state after a kill between the two writes of `archive_finished_layers`.
        let copied = format!("history/{:020}", 7);
        state.replace(&copied, &journal(1)).unwrap();
        state.replace(super::NAME, &journal(3)).unwrap();
        Journal::open(&state).unwrap().unwrap().retire().unwrap();
        assert_eq!(state.read(super::NAME).unwrap(), None);
        assert_eq!(state.read(&copied).unwrap(), Some(journal(3)));
    }

    #[test]
    fn a_changed_byte_never_decodes_as_another_record() {
        let bytes = journal(3);
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                let Ok(records) = decode(&damaged) else { continue };
                // What still decodes is a true prefix of the journal, never something else.
                for (record, seq) in records.iter().zip(1..) {
                    assert_eq!((record.seq, record.at_ns), (seq, 7), "byte {place}, bit {bit}");
                }
                // Without the line end between them, the last two records look like one torn record.
                let least = if bytes[place] == b'\n' { 1 } else { 2 };
                assert!(
                    records.len() >= least,
                    "byte {place}, bit {bit}: damage in the middle must be an error"
                );
            }
        }
    }

    #[test]
    fn after_a_torn_record_only_a_new_begin_is_valid() {
        let mut bytes = journal(2);
        bytes.truncate(bytes.len() - 5);
        bytes.push(b'\n');
        let event = JournalEvent::UndoBegin {
            why: "test".to_owned(),
            layer: None,
            masks: Vec::new(),
            drifted: Vec::new(),
            online: None,
        };
        let mut undo = bytes.clone();
        undo.extend(
            encode(&JournalRecord {
                seq: 2,
                at_ns: 8,
                by: None,
                event,
            })
            .unwrap(),
        );
        assert_eq!(decode(&undo).unwrap().len(), 2);
        bytes.extend(
            encode(&JournalRecord {
                seq: 2,
                at_ns: 8,
                by: None,
                event: JournalEvent::Applied { online: None },
            })
            .unwrap(),
        );
        assert!(decode(&bytes).is_err());
    }
}
