//! Restores the owner of a file.

use super::step::{UndoStep, fail, missing_file_entry};
use super::{Force, UndoOutcome};
use crate::System;
use crate::entry::ChangeEntry;
use crate::record::{ChangeOutcome, StateAfter};
use root::Ownership;

/// Restores the former owner and permissions of a file; reports what another program changed since.
pub(super) fn restore_owner(
    system: &dyn System,
    step: &UndoStep,
    path: &str,
    former: &str,
    undone: &mut UndoOutcome,
) -> ChangeEntry {
    let now = match system.ownership(path) {
        Ok(Some(now)) => now,
        Ok(None) => return missing_file_entry(step, undone, path),
        Err(error) => return fail(step, undone, path, &error),
    };
    let text = Some(now.to_string());
    let Some(former) = Ownership::parse(former) else {
        undone
            .failed
            .push(format!("{path}: the journal does not contain its former owner"));
        return step.entry(text.clone(), text, ChangeOutcome::Refused(libc::EINVAL));
    };
    if now == former {
        return step.entry(text.clone(), text, ChangeOutcome::Already);
    }
    // Without an answer, the process died between chown and chmod, or right after them.
    let is_ours = match step.answer() {
        None => true,
        Some((_, StateAfter::Value { value, .. })) => {
            let ours = value.as_deref().and_then(Ownership::parse);
            // An earlier undo may have died between chown and chmod.
            ours.is_some_and(|ours| {
                let halfway = Ownership {
                    mode: ours.mode,
                    ..former
                };
                now == ours || now == halfway
            })
        }
        Some(_) => false,
    };
    if !is_ours && step.force != Force::Restore {
        undone
            .drift
            .push(format!("{path}: belongs to {now}, previously {former}"));
        return step.entry(text.clone(), text, ChangeOutcome::Drift(now.to_string()));
    }
    if let Err(error) = system.set_ownership(path, former) {
        return fail(step, undone, path, &error);
    }
    let after = system.ownership(path).ok().flatten();
    if after != Some(former) {
        undone
            .failed
            .push(format!("{path}: its owner was set to {former}, but it has another one"));
    }
    step.entry(text, after.map(|after| after.to_string()), ChangeOutcome::Done)
}
