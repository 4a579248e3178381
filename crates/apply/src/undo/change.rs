//! Undoes one journalled change.

use super::owner::restore_owner;
use super::step::{UndoStep, fail, missing_file_entry};
use super::unban::is_placed;
use super::{Force, UndoOutcome};
use super::{cpu_list, slice};
use crate::System;
use crate::entry::ChangeEntry;
use crate::error::ApplyError;
use crate::original_cgroup::CgroupMap;
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState, UnpinnedTasks};
use plan::{Action, ReadbackComparison, UndoMethod};

/// Undoes one change; `None` if it needs no step of its own.
///
/// # Errors
/// The error of reading the machine. Refusals are in `undone`.
pub(super) fn undo_change(
    map: &CgroupMap,
    step: &UndoStep,
    undone: &mut UndoOutcome,
) -> Result<Option<ChangeEntry>, ApplyError> {
    match (&step.change.action, step.before) {
        (Action::Write { .. }, StateBefore::Value { value: former, .. }) => {
            Ok(undo_write(map.system, step, former.as_deref(), undone))
        }
        (
            Action::GiveFile { path, undo, .. },
            StateBefore::Value {
                value: Some(former), ..
            },
        ) if *undo != UndoMethod::WithSet => Ok(Some(restore_owner(map.system, step, path, former, undone))),
        (Action::StartSlice { unit, path, .. }, StateBefore::Value { value: former, .. }) => {
            let former = former.as_deref().unwrap_or_default();
            Ok(Some(slice::stop(map.system, step, (unit, path), former, undone)))
        }
        (Action::MakePartition { path, .. }, before) => {
            let former = match before {
                StateBefore::Value { value: Some(word), .. } if matches!(word.as_str(), "isolated" | "root") => word,
                _ => "member",
            };
            Ok(Some(dissolve(map.system, step, (path, former), undone)))
        }
        (Action::MakeSet { path }, StateBefore::Absent) => remove_set(map, step, path, undone),
        (Action::RemoveSet { path }, StateBefore::Files { files }) => {
            Ok(Some(make_again(map.system, step, path, files, undone)))
        }
        (Action::MoveTasks { to, .. }, StateBefore::Tasks { tasks, crowd }) => {
            let text = return_tasks(map, step, (to, tasks, crowd.as_ref()), undone);
            Ok(Some(step.entry(None, Some(text), ChangeOutcome::Done)))
        }
        // Their masks are restored last, when the partition no longer limits them.
        _ => Ok(None),
    }
}

/// Undoes a write to a file with this former text; `None` if the file disappears with its cgroup, or had no text.
fn undo_write(
    system: &dyn System,
    step: &UndoStep,
    former: Option<&str>,
    undone: &mut UndoOutcome,
) -> Option<ChangeEntry> {
    let Action::Write {
        path,
        value,
        compare,
        undo,
        ..
    } = &step.change.action
    else {
        return None;
    };
    match (undo, compare) {
        (UndoMethod::WithSet, _) => None,
        (UndoMethod::Restore, ReadbackComparison::Includes) => {
            let former = former.unwrap_or_default();
            Some(cpu_list::remove_cpus(system, step, (path, former), undone))
        }
        (UndoMethod::Restore, _) => {
            let restoration = Restoration {
                path,
                own: &own_texts(step, value),
                former: former?,
                unanswered: step.answer().is_none(),
                compare: *compare,
            };
            Some(restore(system, step, &restoration, undone))
        }
    }
}

/// The texts that count as ours: what was written, and what the file read afterwards.
fn own_texts(step: &UndoStep, written: &str) -> Vec<String> {
    let read_back = step.answer().and_then(|(_, after)| match after {
        StateAfter::Value { value, .. } => value.clone(),
        _ => None,
    });
    [Some(written.to_owned()), read_back].into_iter().flatten().collect()
}

/// Sends the tasks that are still in the set back to their cgroups. Returns a text about it.
fn return_tasks(
    map: &CgroupMap,
    step: &UndoStep,
    (to, tasks, unpinned): (&str, &[TaskState], Option<&UnpinnedTasks>),
    undone: &mut UndoOutcome,
) -> String {
    let mut original = match unpinned {
        Some(_) => map.return_unpinned(to),
        None => 0,
    };
    let all = tasks.len() + unpinned.map_or(0, |unpinned| unpinned.tids.len());
    let set = to.strip_prefix(map.mount).unwrap_or(to);
    for task in tasks {
        let there = machine::tasks::read_one(map.system.root(), task.key.tid).filter(|now| now.key == task.key);
        let cgroup = machine::tasks::cgroup_of(map.system.root(), task.key.tid, map.version);
        let set = if set.is_empty() { "/" } else { set };
        if there.is_some() && cgroup.as_deref() == Some(set) {
            let sent = match (step.layer.is_partition(), &task.cgroup) {
                // A manual move may have gone from one set to the next, so it returns to where this step found the task.
                (false, Some(cgroup)) => map.send_to(task.key.tid, cgroup),
                _ => map.return_task(task.key.tid),
            };
            match sent {
                Ok(_) => original += 1,
                Err(errno) => undone.failed.push(format!(
                    "task {} ({}): {}",
                    task.key.tid,
                    task.comm,
                    std::io::Error::from_raw_os_error(errno)
                )),
            }
        }
    }
    format!("{original} of {all} tasks returned to their cgroups")
}

/// A file that gets its former text back.
pub(super) struct Restoration<'a> {
    pub path: &'a str,
    /// Texts that count as ours; the first is what we wrote.
    pub own: &'a [String],
    pub former: &'a str,
    /// Whether a write was started and its outcome never recorded.
    pub unanswered: bool,
    pub compare: ReadbackComparison,
}

impl Restoration<'_> {
    fn written(&self) -> &str {
        self.own.first().map_or("", String::as_str)
    }

    /// The text to write, and whether the file has it already. `-cpuset` undoes `+cpuset`; for everything else, the former
    /// text does.
    fn value(&self, now: &str) -> (String, bool) {
        match (self.compare, self.written().strip_prefix('+')) {
            (ReadbackComparison::Word, Some(word)) => {
                let value = format!("-{word}");
                let is_former = self.compare.same(now, &value);
                (value, is_former)
            }
            _ => (
                self.compare.written(self.former).to_owned(),
                self.compare.same(now, self.former),
            ),
        }
    }
}

/// Writes the former text if the current one is ours.
pub(super) fn restore(
    system: &dyn System,
    step: &UndoStep,
    restoration: &Restoration,
    undone: &mut UndoOutcome,
) -> ChangeEntry {
    let (path, former, compare) = (restoration.path, restoration.former, restoration.compare);
    let now = match system.root().value(path) {
        Ok(Some(now)) => now,
        // Nothing to restore for an interrupt, a cgroup or a CPU that is gone.
        Ok(None) => return missing_file_entry(step, undone, path),
        Err(error) if matches!(error.errno(), Some(libc::ENODEV | libc::ENXIO)) => {
            return missing_file_entry(step, undone, path);
        }
        Err(error) => return fail(step, undone, path, &error),
    };
    let written = restoration.written();
    let (value, is_former) = restoration.value(&now);
    if is_former {
        return step.entry(Some(now.clone()), Some(now), ChangeOutcome::Already);
    }
    // Without an answer, the process died or the disk was full right after the write. The kernel may have rounded the
    // value that we wrote, and the result was not recorded.
    let is_ours = restoration.unanswered || restoration.own.iter().any(|own| compare.same(&now, own));
    if !is_ours && step.force != Force::Restore {
        if is_placed(system, path, undone) {
            return step.entry(Some(now.clone()), Some(now), ChangeOutcome::Already);
        }
        undone.drift.push(format!(
            "{path}: `{now}`; quietcore wrote `{written}`, previously `{former}`"
        ));
        return step.entry(Some(now.clone()), Some(now.clone()), ChangeOutcome::Drift(now));
    }
    // The kernel checks only whether a cgroup enables the controller further down. A cgroup with values in its own
    // files would lose them.
    if value == "-cpuset" && compare == ReadbackComparison::Word && slice::is_used(system, path) {
        return still_used(step, path, now, undone);
    }
    if let Err(error) = system.write(path, &value) {
        return match (compare, error.errno()) {
            // Another owner has enabled the controller further down since; disabling it would break that owner.
            (ReadbackComparison::Word, Some(libc::EBUSY)) => still_used(step, path, now, undone),
            _ => fail(step, undone, path, &error),
        };
    }
    let after = system.root().readable_value(path);
    let expected = match compare {
        ReadbackComparison::Word => value.as_str(),
        _ => former,
    };
    if !after.as_deref().is_some_and(|after| compare.same(after, expected)) {
        undone.failed.push(format!(
            "{path}: wrote `{value}`, but it reads `{}`",
            after.clone().unwrap_or_default()
        ));
    }
    step.entry(Some(now), after, ChangeOutcome::Done)
}

/// The entry of a controller that stays enabled.
fn still_used(step: &UndoStep, path: &str, now: String, undone: &mut UndoOutcome) -> ChangeEntry {
    undone.drift.push(format!(
        "{path}: another cgroup now uses the controller, so it stays enabled"
    ));
    step.entry(Some(now.clone()), Some(now.clone()), ChangeOutcome::Drift(now))
}

/// Makes a partition what it was before: an ordinary cgroup, unless another program had made it a partition.
fn dissolve(
    system: &dyn System,
    step: &UndoStep,
    (path, former): (&str, &str),
    undone: &mut UndoOutcome,
) -> ChangeEntry {
    match system.root().value(path) {
        Ok(None) => step.entry(None, None, ChangeOutcome::Gone),
        Ok(Some(now)) if now == former => step.entry(Some(now.clone()), Some(now), ChangeOutcome::Already),
        Ok(Some(now)) => match system.write(path, former) {
            Ok(()) => step.entry(Some(now), Some(former.to_owned()), ChangeOutcome::Done),
            Err(error) => fail(step, undone, path, &error),
        },
        Err(error) => fail(step, undone, path, &error),
    }
}

fn remove_set(
    map: &CgroupMap,
    step: &UndoStep,
    path: &str,
    undone: &mut UndoOutcome,
) -> Result<Option<ChangeEntry>, ApplyError> {
    if !map.sets.iter().any(|set| set == path) {
        return Ok(None);
    }
    let blocked = map.evacuate(path)?;
    if let Err(errno) = map.remove(path) {
        undone.failed.extend(blocked);
        undone.failed.push(format!(
            "{path} cannot be removed: {}",
            std::io::Error::from_raw_os_error(errno)
        ));
        return Ok(Some(step.entry(
            Some("made".to_owned()),
            None,
            ChangeOutcome::Refused(errno),
        )));
    }
    Ok(Some(step.entry(Some("made".to_owned()), None, ChangeOutcome::Done)))
}

/// Recreates a removed cgroup with the files that it had. If it exists, another program has created it since.
fn make_again(
    system: &dyn System,
    step: &UndoStep,
    path: &str,
    files: &[(String, String)],
    undone: &mut UndoOutcome,
) -> ChangeEntry {
    // A refusal means that the removal never happened, or was already undone.
    if matches!(step.answer(), Some((ChangeOutcome::Refused(_), _))) {
        return step.entry(None, None, ChangeOutcome::Already);
    }
    match system.root().kind(path) {
        Ok(Some(_)) => return step.entry(None, None, ChangeOutcome::Already),
        Ok(None) => {}
        Err(error) => return fail(step, undone, path, &error),
    }
    if let Err(error) = system.make_dir(path) {
        return fail(step, undone, path, &error);
    }
    for (name, text) in files {
        let file = format!("{path}/{name}");
        let now = system.root().readable_value(&file);
        let is_handed = |now: &str| text.starts_with('+') && ReadbackComparison::Word.same(now, text);
        let is_so = now.is_some_and(|now| now == *text || is_handed(&now));
        // Such a partition was not valid when it was removed either.
        let word = text.split_whitespace().next().unwrap_or(text);
        if !is_so && let Err(error) = system.write(&file, word) {
            undone.failed.push(format!("{file}: {error}"));
        }
    }
    step.entry(None, Some("made again".to_owned()), ChangeOutcome::Done)
}
