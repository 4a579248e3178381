//! `check --fix`: the changes that findings carry, made under the lock and as part of the partition that lost them.

use super::look::Looked;
use crate::changing::{self, Changing};
use crate::{CommandError, Status};
use machine::Machine;
use plan::Change;
use root::Root;
use std::collections::BTreeMap;

/// Sets again what is lost; one line for each thing that was done or refused. What the user ignores is left alone.
///
/// # Errors
/// No permission, another quietcore at work, a journal that cannot be understood or written.
pub fn mend(root: &Root, looked: &Looked, ignore: &[String]) -> Result<Vec<String>, CommandError> {
    if changing::standing(root, &looked.machine).is_none() {
        return Err(CommandError::new(
            Status::Denied,
            "nothing was mended",
            format!(
                "{}: the journal of what was applied is for root alone",
                changing::STATE
            ),
            "run it as root (sudo quietcore check --fix)",
        ));
    }
    let mut by_partition: BTreeMap<&str, Vec<Change>> = BTreeMap::new();
    for found in &looked.found {
        let Some(change) = &found.mend else { continue };
        if ignore.iter().any(|pattern| found.is_meant_by(pattern)) {
            continue;
        }
        let changes = by_partition.entry(&found.partition).or_default();
        if !changes.iter().any(|known| known.id == change.id) {
            changes.push(change.clone());
        }
    }
    if by_partition.is_empty() {
        return Ok(Vec::new());
    }
    let Some(changing) = Changing::existing()? else {
        return Err(CommandError::new(
            Status::Conflict,
            "nothing is in force any more",
            "the partition was taken back while it was looked at",
            "run `quietcore check` again",
        ));
    };
    let mut lines = Vec::new();
    for (partition, changes) in by_partition {
        let machine = Machine::read(root);
        let version = env!("CARGO_PKG_VERSION");
        let mended = apply::mend(
            &changing.host,
            &changing.state,
            &machine,
            partition,
            &ordered(changes),
            version,
        )?;
        lines.extend(mended.entries.iter().map(|entry| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            format!(
                "{}: {} -> {}, {}",
                entry.change,
                value(&entry.before),
                value(&entry.after),
                entry.outcome.text()
            )
        }));
        lines.extend(
            mended
                .findings
                .iter()
                .map(|finding| format!("{}: {}", finding.subject, finding.message)),
        );
    }
    Ok(lines)
}

/// In the order of the knobs, which is that in which `apply` needs them.
fn ordered(mut changes: Vec<Change>) -> Vec<Change> {
    let place = |change: &Change| plan::KNOBS.iter().position(|knob| knob.name == change.knob());
    changes.sort_by_key(|change| place(change));
    changes
}
