//! Removes the CPUs of a partition from a list that other partitions and programs use too.

use super::UndoOutcome;
use super::step::{UndoStep, fail, missing_file_entry};
use crate::System;
use crate::entry::ChangeEntry;
use crate::record::ChangeOutcome;
use machine::CpuSet;

/// Removes what the layer added to the list.
pub(super) fn remove_cpus(
    system: &dyn System,
    step: &UndoStep,
    (path, former): (&str, &str),
    undone: &mut UndoOutcome,
) -> ChangeEntry {
    let text = match system.root().value(path) {
        Ok(Some(text)) => text,
        Ok(None) => return missing_file_entry(step, undone, path),
        Err(error) => return fail(step, undone, path, &error),
    };
    let list = |text: &str| CpuSet::parse_list(text).unwrap_or_default();
    let added = step.layer.intent.cpus.minus(&list(former));
    let now = list(&text);
    if !now.intersects(&added) {
        return step.entry(Some(text.clone()), Some(text), ChangeOutcome::Already);
    }
    if let Err(error) = system.write(path, &now.minus(&added).to_string()) {
        return fail(step, undone, path, &error);
    }
    let after = system.root().readable_value(path);
    if after.as_deref().is_none_or(|after| list(after).intersects(&added)) {
        undone.failed.push(format!(
            "{path}: CPU {added} was removed, but it reads `{}`",
            after.clone().unwrap_or_default()
        ));
    }
    step.entry(Some(text), after, ChangeOutcome::Done)
}
