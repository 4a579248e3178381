//! Stops the slice that systemd started for us, and restores its controller.

use super::UndoOutcome;
use super::step::{UndoStep, fail};
use crate::System;
use crate::actions::control_of;
use crate::entry::ChangeEntry;
use crate::record::ChangeOutcome;
use machine::Version;
use plan::ReadbackComparison;
use root::DirectoryEntryType;
use std::time::Duration;

/// How often to check whether systemd is done; below, the interval.
const MAX_POLLS: u32 = 500;
const BETWEEN: Duration = Duration::from_millis(20);

/// Stops the slice and waits until systemd has removed its cgroup.
pub(super) fn stop(
    system: &dyn System,
    step: &UndoStep,
    (unit, path): (&str, &str),
    former: &str,
    undone: &mut UndoOutcome,
) -> ChangeEntry {
    let is_there = |path: &str| matches!(system.root().kind(path), Ok(Some(_)));
    let file = format!("/run/systemd/transient/{unit}");
    // A refused start was never ours.
    if matches!(step.answer(), Some((ChangeOutcome::Refused(_), _))) {
        return step.entry(None, None, ChangeOutcome::Already);
    }
    // If the process died right after the call, systemd may not have read the call yet. It reads the stop request after that.
    if step.answer().is_none() && !is_there(&file) && !is_there(path) {
        let _ = system.stop_unit(unit);
    }
    if !is_there(&file) {
        let entry = step.entry(None, None, ChangeOutcome::Already);
        return control(system, step, path, former, undone).unwrap_or(entry);
    }
    let entries = system.root().entries(path).ok().flatten().unwrap_or_default();
    let guests = entries
        .into_iter()
        .filter(|entry| entry.kind == DirectoryEntryType::Dir);
    let guests: Vec<String> = guests.map(|entry| entry.name).collect();
    if !guests.is_empty() {
        undone.drift.push(format!(
            "{path}: {} run in it, so systemd keeps {unit}; stop them, then undo again",
            guests.join(", ")
        ));
        return step.entry(None, None, ChangeOutcome::Drift(guests.join(", ")));
    }
    if let Err(error) = system.stop_unit(unit) {
        undone
            .failed
            .push(format!("{unit} is still active: {error}; `systemctl stop {unit}`"));
        return step.entry(None, None, ChangeOutcome::Refused(error.errno()));
    }
    let mut looks = 0;
    while (is_there(path) || is_there(&file)) && looks < MAX_POLLS {
        system.pause(BETWEEN);
        looks += 1;
    }
    if is_there(path) || is_there(&file) {
        undone
            .failed
            .push(format!("{unit} was stopped, but {path} or {file} still exists"));
        return step.entry(None, None, ChangeOutcome::Refused(libc::EBUSY));
    }
    wait_above(system, step, path);
    let stopped = step.entry(
        Some(format!("{unit} is active")),
        Some("stopped".to_owned()),
        ChangeOutcome::Done,
    );
    control(system, step, path, former, undone).unwrap_or(stopped)
}

/// Restores the controller: systemd disables it with the last unit that needs it, even if it was enabled by hand.
/// `None` if there is nothing to report.
fn control(
    system: &dyn System,
    step: &UndoStep,
    path: &str,
    former: &str,
    undone: &mut UndoOutcome,
) -> Option<ChangeEntry> {
    let file = control_of(path);
    let has = |text: &str| ReadbackComparison::Word.same(text, "+cpuset");
    if has(former) && has_program_ended(system, step) {
        // The controller may have been enabled for that program. Then systemd disables it.
        return None;
    }
    let now = || system.root().readable_value(&file).unwrap_or_default();
    let mut looks = 0;
    // systemd does so a moment after the unit is gone.
    while has(&now()) && !has(former) && looks < 50 {
        system.pause(BETWEEN);
        looks += 1;
    }
    let value = match (has(former), has(&now())) {
        (true, true) => return None,
        (true, false) => "+cpuset",
        // Written even if systemd was faster: the kernel shows the new list before it has moved the tasks, which drops
        // their pins before 6.2. A second write waits for that.
        (false, _) => "-cpuset",
    };
    let mut keeps = || {
        undone.notes.push(format!(
            "{file}: another unit now uses cpuset, so systemd keeps it enabled"
        ));
        None
    };
    if value == "-cpuset" && is_used(system, &file) {
        return keeps();
    }
    match system.write(&file, value) {
        Ok(()) => None,
        Err(error) if error.errno() == Some(libc::EBUSY) => keeps(),
        Err(error) => Some(fail(step, undone, &file, &error)),
    }
}

/// Waits for a bounded time until systemd has disabled the controller in the cgroups above the slice's own, where it was not
/// enabled before and nothing uses it. The comparison of all files reports what is left.
fn wait_above(system: &dyn System, step: &UndoStep, path: &str) {
    let has = |text: &str| ReadbackComparison::Word.same(text, "+cpuset");
    let mut dir = path.rsplit_once('/').map_or("", |(above, _)| above);
    while let Some((above, _)) = dir.rsplit_once('/') {
        dir = above;
        let file = format!("{dir}/cgroup.subtree_control");
        let was_enabled = step.layer.content_before(&file).is_none_or(has);
        let is_enabled = || system.root().readable_value(&file).is_some_and(|text| has(&text));
        let mut polls = 0;
        while !was_enabled && is_enabled() && !is_used(system, &file) && polls < MAX_POLLS {
            system.pause(BETWEEN);
            polls += 1;
        }
    }
}

/// Whether the partition was the cgroup of a program, and that cgroup has been removed.
fn has_program_ended(system: &dyn System, step: &UndoStep) -> bool {
    let dir = step.layer.partition_dir();
    step.layer.intent.in_place.is_some() && dir.is_some_and(|dir| matches!(system.root().kind(dir), Ok(None)))
}

/// Whether a cgroup below has values of its own in its cpuset files. Disabling the controller would lose them.
pub(super) fn is_used(system: &dyn System, control: &str) -> bool {
    let Some((above, _)) = control.rsplit_once('/') else {
        return false;
    };
    let cgroups = machine::Cgroups::read(system.root());
    let hierarchy = cgroups.cpuset.filter(|tree| tree.version == Version::V2);
    let Some(hierarchy) = hierarchy else { return false };
    let base = above.strip_prefix(hierarchy.mount.as_str()).unwrap_or_default();
    hierarchy.sets.iter().any(|set| {
        let child = set.name.strip_prefix(base).and_then(|rest| rest.strip_prefix('/'));
        let is_child = child.is_some_and(|name| !name.is_empty() && !name.contains('/'));
        let lists = [&set.cpus, &set.cpus_exclusive];
        is_child
            && (lists.into_iter().flatten().any(|cpus| !cpus.is_empty())
                || set.mems.as_ref().is_some_and(|mems| !mems.is_empty()))
    })
}
