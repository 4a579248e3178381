//! Implements `partrt undo`: restores the true former state from the journal. The original wrote defaults, unless it got
//! the file that its `create` had saved in /tmp. That file is accepted, but its content is not used.

use super::{ParsedOption, PartitionNames, PartrtError, detail, getopts, wrong};
use apply::{Force, UndoOutcome, UndoRequest, UndoTarget};
use session::Session;
use std::path::Path;
use terminal::Screen;

/// The file in which the original's `create` saves former values.
const SAVED: &str = "/tmp/partrt_env";

/// Runs it.
///
/// # Errors
/// Wrong options, a journal that cannot be read, and values that could not be restored.
pub fn undo(
    session: &Session,
    words: &[String],
    names: &PartitionNames,
    screen: &mut Screen,
) -> Result<(), PartrtError> {
    let (found, _) = getopts(":hs:", words);
    for one in found {
        match one {
            ParsedOption::Option('h', _) => return Err(PartrtError::Usage),
            ParsedOption::Option('s', Some(file)) => check_saved(&file)?,
            other => return Err(wrong(&other, "")),
        }
    }
    if let Some(undone) = undo_partition(session, &names.rt)? {
        if let Some(table) = Some(apply::entries_text(&undone.entries)).filter(|table| !table.is_empty()) {
            detail(screen, &table);
        }
        for note in &undone.notes {
            screen.note(&format!("partrt: {note}\n"));
        }
        for line in &undone.tasks {
            screen.note(&format!("partrt: left alone: {line}\n"));
        }
        if undone.is_open(Force::No) {
            return Err(PartrtError::Message(format!(
                "not everything is as before: {}; `quietcore undo --force` restores it, `quietcore undo --skip-changed` \
                 leaves it",
                undone.remains().join("; ")
            )));
        }
    } else {
        let others: Vec<String> = session
            .in_force()
            .iter()
            .map(|intent| intent.name.to_string())
            .collect();
        if let Some(other) = others.first() {
            return Err(PartrtError::Message(format!(
                "there is no partition {}; active: {}; undo it with `partrt -r {other} undo`",
                names.rt,
                others.join(", ")
            )));
        }
        detail(screen, "No partition is active; nothing to undo\n");
    }
    screen.text("System was successfully restored\n");
    Ok(())
}

/// `None` if no such partition is active.
fn undo_partition(session: &Session, name: &str) -> Result<Option<UndoOutcome>, PartrtError> {
    let Some(changing) = session.lock_existing()? else {
        return Ok(None);
    };
    let boot_id = changing.session.boot_id();
    match apply::undo(
        &*changing.host,
        changing.state(),
        boot_id.as_deref(),
        UndoRequest {
            which: UndoTarget::Named(name),
            force: Force::No,
            why: "partrt undo",
        },
    ) {
        Ok(undone) if undone.was_in_force => Ok(Some(undone)),
        Ok(_) | Err(apply::ApplyError::NoPartition { .. }) => Ok(None),
        Err(error) => Err(root::Failure::from(error).into()),
    }
}

/// A file of saved values must be valid. This `create` does not write the original's default file, so it may be missing.
fn check_saved(file: &str) -> Result<(), PartrtError> {
    match root::input::text(Path::new(file)) {
        Ok(text) if text.split_whitespace().next() == Some("partrt_settings:") => Ok(()),
        Ok(_) => Err(PartrtError::Message(format!("Corrupt settings file: {file}"))),
        Err(error) if error.errno() == Some(libc::ENOENT) => match file {
            SAVED => Ok(()),
            _ => Err(PartrtError::Message(format!(
                "Provided configuration file: {file} does not exist"
            ))),
        },
        Err(error) => Err(root::Failure::from(error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_saved_values_is_checked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("env");
        let name = file.to_str().unwrap();
        let message = |result: Result<(), PartrtError>| match result {
            Ok(()) => "taken".to_owned(),
            Err(PartrtError::Message(text)) => text,
            Err(_) => "other".to_owned(),
        };
        assert_eq!(
            message(check_saved(name)),
            format!("Provided configuration file: {name} does not exist")
        );
        std::fs::write(
            &file,
            "partrt_settings: 2022-08-25-10-00-00\n/proc/sys/vm/stat_interval 1\n",
        )
        .unwrap();
        assert_eq!(message(check_saved(name)), "taken");
        std::fs::write(&file, "/proc/sys/vm/stat_interval 1\n").unwrap();
        assert_eq!(message(check_saved(name)), format!("Corrupt settings file: {name}"));
        std::fs::write(&file, "").unwrap();
        assert_eq!(message(check_saved(name)), format!("Corrupt settings file: {name}"));
    }
}
