//! Stores the journal of boot-line changes, `/var/lib/quietcore/boot-line`: what was changed, what is ours, and the result.

use crate::ApplyError;
use crate::journal::Storage;
use crate::notes::{self, RecordLog};
use crate::record::LogRecord;
use boot::{BootObservation, BootSinceWrite, FileEdit, RecordedWords, ToolRun};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Its name in `/var/lib/quietcore`.
pub(super) const NAME: &str = "boot-line";

/// A change that is about to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenChange {
    /// The boot in which it is made.
    pub boot_id: Option<String>,
    /// What is ours before it.
    pub before: RecordedWords,
    /// What is ours afterwards.
    pub after: RecordedWords,
    /// Files with their former and new text.
    pub edits: Vec<FileEdit>,
    /// Tools that run after the files are changed.
    pub runs: Vec<ToolRun>,
    /// Directories that are made for them, outermost first.
    pub dirs: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum BootLineEvent {
    /// The next writes are these.
    Will(Box<OpenChange>),
    /// All of them are done.
    Done { of: u64, boot_id: Option<String> },
    /// They are undone.
    TakenBack { of: u64 },
    /// The state that a boot was seen in: `live`, `reverted`.
    Seen { boot_id: Option<String>, state: String },
}

/// The records of boot-line changes: what was changed in the loader's files, and when.
pub struct BootNotes<'a>(RecordLog<'a, BootLineEvent>);

impl<'a> BootNotes<'a> {
    /// Reads the records.
    ///
    /// # Errors
    /// The read error, or a damaged record in the middle.
    pub fn read(lasting: &'a dyn Storage) -> Result<BootNotes<'a>, ApplyError> {
        Ok(BootNotes(RecordLog::read(lasting, NAME)?))
    }

    /// What is ours; for an unfinished change, what was ours before it.
    #[must_use]
    pub fn own_words(&self) -> RecordedWords {
        own_words(&events(self.0.all()))
    }

    /// Whether the machine was booted since our words were written.
    #[must_use]
    pub fn since(&self, boot_id: Option<&str>) -> BootSinceWrite {
        since(&events(self.0.all()), boot_id)
    }

    /// The state that a boot after the last change was seen in.
    #[must_use]
    pub fn observed_boot(&self) -> Option<BootObservation> {
        observed_boot(self.0.all())
    }

    /// Whether a change is unfinished.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.open().is_some()
    }

    /// Appends a record; returns its number.
    pub(super) fn append(&mut self, event: BootLineEvent) -> Result<u64, ApplyError> {
        self.0.append(event)?;
        Ok(self.0.all().last().map_or(0, |note| note.seq))
    }

    /// The unfinished change.
    pub(super) fn open(&self) -> Option<(u64, OpenChange)> {
        open(&events(self.0.all()))
    }

    /// Every file that was ever changed, and every directory that was made.
    pub(super) fn paths(&self) -> BTreeSet<String> {
        let changes = self.0.all().iter().filter_map(|note| match &note.event {
            BootLineEvent::Will(open) => Some(open),
            _ => None,
        });
        changes
            .flat_map(|open| open.edits.iter().map(|edit| edit.path.clone()))
            .collect()
    }

    pub(super) fn dirs(&self) -> Vec<String> {
        let mut all = Vec::new();
        for note in self.0.all() {
            if let BootLineEvent::Will(open) = &note.event {
                all.extend(
                    open.dirs
                        .iter()
                        .filter(|dir| !all.contains(*dir))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
            }
        }
        all
    }
}

/// The content of a captured machine's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedBootJournal {
    /// What is ours.
    pub own_words: RecordedWords,
    /// Whether it was booted since.
    pub after: BootSinceWrite,
    /// The state that a boot was seen in.
    pub observed_boot: Option<BootObservation>,
    /// Whether a change is unfinished.
    pub unfinished: bool,
}

/// Reads the journal of a captured machine from its bytes.
///
/// # Errors
/// A damaged record in the middle, or one of another version that this one cannot decode.
pub fn read_captured(bytes: &[u8], boot_id: Option<&str>) -> Result<CapturedBootJournal, ApplyError> {
    let notes = notes::decode::<BootLineEvent>(bytes, NAME)?;
    let events = events(&notes);
    Ok(CapturedBootJournal {
        own_words: own_words(&events),
        after: since(&events, boot_id),
        observed_boot: observed_boot(&notes),
        unfinished: open(&events).is_some(),
    })
}

/// Reads it from the records after the last change.
fn observed_boot(notes: &[LogRecord<BootLineEvent>]) -> Option<BootObservation> {
    let since = notes
        .iter()
        .rev()
        .take_while(|note| !matches!(note.event, BootLineEvent::Done { .. }));
    since
        .filter_map(|note| match &note.event {
            BootLineEvent::Seen { boot_id, state } => Some(BootObservation {
                state: state.clone(),
                boot_id: boot_id.clone(),
                at_ns: note.at_ns,
            }),
            _ => None,
        })
        .next()
}

fn open(events: &[(u64, &BootLineEvent)]) -> Option<(u64, OpenChange)> {
    let ended: BTreeSet<u64> = events.iter().filter_map(|(_, event)| finished_change(event)).collect();
    events.iter().rev().find_map(|(seq, event)| match event {
        BootLineEvent::Will(open) if !ended.contains(seq) => Some((*seq, (**open).clone())),
        _ => None,
    })
}

fn events(notes: &[LogRecord<BootLineEvent>]) -> Vec<(u64, &BootLineEvent)> {
    notes.iter().map(|note| (note.seq, &note.event)).collect()
}

fn finished_change(event: &BootLineEvent) -> Option<u64> {
    match event {
        BootLineEvent::Done { of, .. } | BootLineEvent::TakenBack { of } => Some(*of),
        _ => None,
    }
}

fn own_words(events: &[(u64, &BootLineEvent)]) -> RecordedWords {
    let last = events.iter().rev().find_map(|(seq, event)| match event {
        BootLineEvent::Will(open) => Some((*seq, open)),
        _ => None,
    });
    let Some((seq, open)) = last else {
        return RecordedWords::default();
    };
    let done = events
        .iter()
        .any(|(_, event)| matches!(event, BootLineEvent::Done { of, .. } if *of == seq));
    match done {
        true => open.after.clone(),
        false => open.before.clone(),
    }
}

fn since(events: &[(u64, &BootLineEvent)], boot_id: Option<&str>) -> BootSinceWrite {
    let wrote = events.iter().rev().find_map(|(_, event)| match event {
        BootLineEvent::Done { boot_id, .. } => Some(boot_id.as_deref()),
        _ => None,
    });
    match wrote.flatten().zip(boot_id) {
        Some((then, now)) if then != now => BootSinceWrite::AnotherBoot,
        _ => BootSinceWrite::SameBoot,
    }
}
