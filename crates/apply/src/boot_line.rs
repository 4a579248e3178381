//! Changes boot files so that every change can be undone after a power cut.
//!
//! The former content is on disk before the first write, and every file is either complete or unchanged. After a power
//! cut, the next call reads the progress from the record and restores the files.
//!
//! A change consists of a record with all its edits, the edits one by one, the loader's tools, the read-back, and a record that
//! it is done. Without that last record, the next call undoes the edits and runs the tools again. On FAT a rename is not atomic,
//! so there the former content stays beside the file under a name that no loader reads ([`backup_path`]).

mod machine;
mod notes;

pub use machine::{BootMachine, Runner};
pub use notes::{BootNotes, CapturedBootJournal, read_captured};

use crate::ApplyError;
use crate::installed::{missing_above, write_verified};
use crate::journal::Storage;
use ::machine::cmdline::BootWordStage;
use boot::{FileEdit, RecordedWords, ToolRun};
use notes::{BootLineEvent, OpenChange};
use root::{Failure, PathState, RenameAtomicity};

/// A change to carry out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootChange {
    /// What is ours now.
    pub before: RecordedWords,
    /// What is ours afterwards.
    pub after: RecordedWords,
    /// Files, in this order.
    pub edits: Vec<FileEdit>,
    /// Tools that run after the files are changed.
    pub runs: Vec<ToolRun>,
    /// What only the next boot should start.
    pub once: Option<OneShotMethod>,
}

/// How an entry is chosen for one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneShotMethod {
    /// `LoaderEntryOneShot` names it.
    Entry(String),
    /// A tool of the loader chooses it.
    Tool(ToolRun),
}

/// What became of an unfinished change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryResult {
    /// Files that are restored.
    pub restored: Vec<String>,
    /// What another program changed since and is left alone.
    pub left: Vec<String>,
}

/// Where the former content of a file is kept on FAT.
#[must_use]
pub fn backup_path(path: &str) -> String {
    format!("{path}.quietcore-before")
}

/// Carries out a change. `good` checks the machine afterwards; its error undoes everything.
///
/// # Errors
/// If the record cannot be written, nothing is changed. If a later step fails, everything is undone ([`ApplyError::RolledBack`]).
pub fn carry_out(
    machine: &dyn BootMachine,
    lasting: &dyn Storage,
    boot_id: Option<&str>,
    change: &BootChange,
    good: &dyn Fn() -> Result<(), ApplyError>,
) -> Result<(), ApplyError> {
    let mut notes = BootNotes::read(lasting)?;
    for edit in &change.edits {
        if content(machine, &edit.path)?.as_ref()
            != edit.before.as_ref().map(String::as_bytes).map(<[u8]>::to_vec).as_ref()
        {
            return Err(ApplyError::Unable {
                why: format!("another program is changing {}", edit.path),
                next: "try again".to_owned(),
            });
        }
    }
    let mut dirs = Vec::new();
    for edit in change.edits.iter().filter(|edit| edit.before.is_none()) {
        for dir in missing_above(machine, &edit.path)? {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
    }
    let of = notes.append(BootLineEvent::Will(Box::new(OpenChange {
        boot_id: boot_id.map(str::to_owned),
        before: change.before.clone(),
        after: change.after.clone(),
        edits: change.edits.clone(),
        runs: change.runs.clone(),
        dirs: dirs.clone(),
    })))?;
    let done = write_all(machine, &dirs, change).and_then(|()| good());
    if let Err(error) = done {
        let finished = restore_files(machine, &mut notes)?;
        tidy(machine, lasting, &notes)?;
        return Err(rollback_error(&error, finished.as_ref()));
    }
    notes.append(BootLineEvent::Done {
        of,
        boot_id: boot_id.map(str::to_owned),
    })?;
    tidy(machine, lasting, &notes)
}

/// Undoes an unfinished change. `None` if there is none.
///
/// # Errors
/// A journal that cannot be read, or files that cannot be written.
pub fn finish(machine: &dyn BootMachine, lasting: &dyn Storage) -> Result<Option<RecoveryResult>, ApplyError> {
    let mut notes = BootNotes::read(lasting)?;
    let finished = restore_files(machine, &mut notes)?;
    // A single torn record is a file too.
    tidy(machine, lasting, &notes)?;
    Ok(finished)
}

/// Records whether this boot has the state in the files, for the first boot in which that is so. Returns whether it was new.
///
/// # Errors
/// The error of reading or writing.
pub fn note_state(lasting: &dyn Storage, boot_id: Option<&str>, state: BootWordStage) -> Result<bool, ApplyError> {
    let mut notes = BootNotes::read(lasting)?;
    let known = notes.observed_boot().is_some_and(|boot| boot.state == state.text());
    // A pending change is known from the files, and no boot has shown its result.
    if known || state == BootWordStage::Pending {
        return Ok(false);
    }
    notes.append(BootLineEvent::Seen {
        boot_id: boot_id.map(str::to_owned),
        state: state.text().to_owned(),
    })?;
    Ok(true)
}

fn write_all(machine: &dyn BootMachine, dirs: &[String], change: &BootChange) -> Result<(), ApplyError> {
    for dir in dirs {
        write_verified(machine, dir, &PathState::Dir)?;
    }
    for edit in &change.edits {
        write(machine, edit)?;
    }
    for run in &change.runs {
        machine.run(run)?;
    }
    match &change.once {
        Some(OneShotMethod::Entry(entry)) => machine.start_once(entry),
        Some(OneShotMethod::Tool(run)) => machine.run(run),
        None => Ok(()),
    }
}

/// Writes one file. On FAT the former content is first saved beside it.
fn write(machine: &dyn BootMachine, edit: &FileEdit) -> Result<(), ApplyError> {
    let former = machine.path_state(&edit.path)?;
    if former != PathState::Nothing && machine.renames(&edit.path)? == RenameAtomicity::InSteps {
        write_verified(machine, &backup_path(&edit.path), &former)?;
    }
    write_verified(
        machine,
        &edit.path,
        &text_state(&former, edit.after.as_deref(), edit.mode),
    )
}

/// A text with the permissions of the existing file, or those for a new one.
fn text_state(former: &PathState, text: Option<&str>, mode: u32) -> PathState {
    let mode = match former {
        PathState::File { mode, .. } => *mode,
        _ => mode,
    };
    text.map_or(PathState::Nothing, |text| PathState::text(text, mode))
}

fn content(machine: &dyn BootMachine, path: &str) -> Result<Option<Vec<u8>>, ApplyError> {
    Ok(match machine.path_state(path)? {
        PathState::File { content, .. } => Some(content.bytes().to_vec()),
        _ => None,
    })
}

/// Restores the former content of every file of the open change, and runs the tools on it.
fn restore_files(machine: &dyn BootMachine, notes: &mut BootNotes) -> Result<Option<RecoveryResult>, ApplyError> {
    let Some((of, open)) = notes.open() else {
        return Ok(None);
    };
    let mut finished = RecoveryResult::default();
    for edit in open.edits.iter().rev() {
        let former = machine.path_state(&edit.path)?;
        let now = content(machine, &edit.path)?;
        let is = |text: &Option<String>| now.as_deref() == text.as_deref().map(str::as_bytes);
        if is(&edit.before) {
            continue;
        }
        let renames = machine.renames(&edit.path).unwrap_or(RenameAtomicity::Atomic);
        let torn = now.as_deref().is_none_or(|now| is_torn(now, edit)) && renames == RenameAtomicity::InSteps;
        if !is(&edit.after) && !torn {
            finished.left.push(format!("{}: another program changed it", edit.path));
            continue;
        }
        write_verified(
            machine,
            &edit.path,
            &text_state(&former, edit.before.as_deref(), edit.mode),
        )?;
        finished.restored.push(edit.path.clone());
    }
    // The tools recreate their own output. If a tool itself was what failed, it has produced none.
    for run in &open.runs {
        if let Err(error) = machine.run(run) {
            finished.left.push(error.to_string().replace('\n', ": "));
        }
    }
    notes.append(BootLineEvent::TakenBack { of })?;
    remove_dirs(machine, &open.dirs);
    Ok(Some(finished))
}

/// What a power cut on FAT leaves of a file: a part of either content, with blocks that were never written.
fn is_torn(now: &[u8], edit: &FileEdit) -> bool {
    let written = now.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let start = &now[..written];
    [&edit.before, &edit.after]
        .into_iter()
        .flatten()
        .any(|text| text.as_bytes().starts_with(start))
}

/// Removes backups, directories and the journal when none of our changes is active.
fn tidy(machine: &dyn BootMachine, lasting: &dyn Storage, notes: &BootNotes) -> Result<(), ApplyError> {
    if notes.own_words() != RecordedWords::default() {
        return Ok(());
    }
    for path in notes.paths() {
        let backup = backup_path(&path);
        if matches!(machine.path_state(&backup), Ok(PathState::File { .. })) {
            write_verified(machine, &backup, &PathState::Nothing)?;
        }
    }
    remove_dirs(machine, &notes.dirs());
    if lasting.read(notes::NAME)?.is_some() {
        lasting.remove(notes::NAME)?;
    }
    Ok(())
}

/// Removes directories that we made, innermost first; one that others use by now stays.
fn remove_dirs(machine: &dyn BootMachine, dirs: &[String]) {
    for dir in dirs.iter().rev() {
        let _ = machine.set_path_state(dir, &PathState::Nothing);
    }
}

fn rollback_error(error: &ApplyError, finished: Option<&RecoveryResult>) -> ApplyError {
    let Failure { what, why, next, .. } = error.into();
    let left: Vec<String> = finished.map(|done| done.left.clone()).unwrap_or_default();
    let errno = match error {
        ApplyError::Root(error) => error.errno(),
        _ => None,
    };
    ApplyError::RolledBack {
        change: "the boot line was not changed".to_owned(),
        why: format!("{what}: {why}"),
        undone: match left.is_empty() {
            true => "all files are unchanged".to_owned(),
            false => format!("the files are unchanged, except: {}", left.join("; ")),
        },
        next,
        errno,
    }
}
