//! Writes one value, unless the file has it already, and reads it back.

use super::move_tasks::{restore_pin, thread_list};
use super::{ActionContext, StepResult, refusal};
use crate::ApplyError;
use crate::census;
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState};
use machine::CpuSet;
use plan::{Change, Finding, FindingId, Level, ReadbackComparison, RefusalPolicy};
use root::DirectoryEntryType;

/// The intended value of a file.
pub(crate) struct WriteRequest<'a> {
    /// The file.
    pub path: &'a str,
    /// The value.
    pub value: &'a str,
    /// How values are compared.
    pub compare: ReadbackComparison,
    /// What a refusal means.
    pub on_refusal: RefusalPolicy,
}

pub(crate) fn enact(
    stage: &mut ActionContext,
    change: &Change,
    target: WriteRequest,
) -> Result<StepResult, ApplyError> {
    let (path, value, compare) = (target.path, target.value, target.compare);
    let on_refusal = target.on_refusal;
    let now = match stage.system.root().value(path) {
        Ok(now) => now,
        // For an interrupt that vanished since the plan, the read returns EIO or the file is missing. In both cases
        // nothing is left to do.
        Err(error) if on_refusal == RefusalPolicy::Report => {
            return report(stage, change, None, refusal(error)?);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(now) = now else {
        return absent(path, on_refusal);
    };
    if compare.same(&now, value) {
        return Ok(StepResult::unchanged(Some(now), ChangeOutcome::Already));
    }
    let tasks = affected_tasks(stage, path, compare)?;
    let before = StateBefore::Value {
        value: Some(stage.content_before.unwrap_or(&now).to_owned()),
        tasks: tasks.clone(),
    };
    let seq = stage.record_intent(change, before)?;
    if let Err(error) = stage.system.write(path, &text_to_write(compare, &now, value)) {
        if on_refusal == RefusalPolicy::Fatal {
            let errno = error.errno().unwrap_or(libc::EIO);
            stage.record_outcome(seq, ChangeOutcome::Refused(errno), StateAfter::Nothing)?;
            return Err(error.into());
        }
        let errno = refusal(error)?;
        stage.record_outcome(seq, ChangeOutcome::Refused(errno), StateAfter::Nothing)?;
        return report(stage, change, Some(now), errno);
    }
    let found = stage.system.root().value(path)?;
    let outcome = match &found {
        Some(found) if compare.same(found, value) => ChangeOutcome::Done,
        other => ChangeOutcome::Otherwise(other.clone().unwrap_or_default()),
    };
    restore_pins(stage, path, &now, value, &tasks)?;
    let after = StateAfter::Value {
        value: found.clone(),
        masks: census::masks_now(stage.system, &tasks),
    };
    stage.record_outcome(seq, outcome.clone(), after)?;
    if outcome != ChangeOutcome::Done && on_refusal == RefusalPolicy::Fatal {
        return Err(not_accepted(path, value, &found.unwrap_or_default()));
    }
    Ok(StepResult {
        seq,
        before: Some(now),
        after: found,
        outcome,
    })
}

/// The text that gives a file its value. CPUs are added to what a shared list has now, which others may have changed since
/// the plan.
fn text_to_write(compare: ReadbackComparison, now: &str, value: &str) -> String {
    let list = |text: &str| CpuSet::parse_list(text).unwrap_or_default();
    match compare {
        ReadbackComparison::Includes => list(now).or(&list(value)).to_string(),
        _ => value.to_owned(),
    }
}

/// The error for a value that the kernel took without effect.
fn not_accepted(path: &str, value: &str, found: &str) -> ApplyError {
    ApplyError::Unable {
        why: format!("{path}: wrote `{value}`, but it reads `{found}`"),
        next: "another program may control this file; find out which one writes it, then try again".to_owned(),
    }
}

/// The result for a file that does not exist.
fn absent(path: &str, on_refusal: RefusalPolicy) -> Result<StepResult, ApplyError> {
    match on_refusal {
        RefusalPolicy::Report => Ok(StepResult::unchanged(None, ChangeOutcome::Gone)),
        RefusalPolicy::Fatal => Err(ApplyError::Unable {
            why: format!("{path} does not exist"),
            next: "this kernel lacks the file; `quietcore inspect` shows the existing ones".to_owned(),
        }),
    }
}

/// The tasks whose masks the kernel may change with the write.
fn affected_tasks(
    stage: &mut ActionContext,
    path: &str,
    compare: ReadbackComparison,
) -> Result<Vec<TaskState>, ApplyError> {
    if let Some(cpu) = switched_cpu(path) {
        // Only tasks that can run nowhere else lose their masks. The others here have masks that our partition changed,
        // and undo must not restore those.
        let alone: CpuSet = CpuSet::range(cpu, cpu);
        let mut tasks = census::pinned(stage)?;
        tasks.retain(|task| task.mask.is_subset(&alone));
        return Ok(tasks);
    }
    match rewrites_masks(path, compare) && !is_of_empty_set(stage, path, compare)? {
        true => census::pinned(stage),
        false => Ok(Vec::new()),
    }
}

/// Whether the kernel may rewrite task masks after the write. It may for lists of foreign cpusets, and when the
/// controller is enabled (pins are dropped before 6.2).
fn rewrites_masks(path: &str, compare: ReadbackComparison) -> bool {
    compare == ReadbackComparison::Word || narrows_sets(path, compare)
}

/// Whether the file is the CPU list of a cpuset.
pub(super) fn narrows_sets(path: &str, compare: ReadbackComparison) -> bool {
    compare == ReadbackComparison::List && path.contains("/cgroup") && path.ends_with("cpus")
}

/// Whether the file is the CPU list of a set without tasks and children, as our sets are at first: no task has a mask from it.
fn is_of_empty_set(stage: &ActionContext, path: &str, compare: ReadbackComparison) -> Result<bool, ApplyError> {
    let Some((dir, _)) = path.rsplit_once('/').filter(|_| narrows_sets(path, compare)) else {
        return Ok(false);
    };
    let root = stage.system.root();
    let is_empty = root
        .text(&thread_list(stage, dir))?
        .is_some_and(|text| text.trim().is_empty());
    let below = root.entries(dir)?.unwrap_or_default();
    Ok(is_empty && below.iter().all(|entry| entry.kind != DirectoryEntryType::Dir))
}

/// The CPU that a file switches online and offline.
fn switched_cpu(path: &str) -> Option<u32> {
    let name = path
        .strip_prefix("/sys/devices/system/cpu/cpu")?
        .strip_suffix("/online")?;
    name.parse().ok()
}

/// Sets pins again: before 6.2, a write to the CPU list of a set gives its tasks the whole list. Only pins inside the
/// remaining CPUs are set; tasks without a pin never get one.
fn restore_pins(
    stage: &mut ActionContext,
    path: &str,
    former: &str,
    value: &str,
    tasks: &[TaskState],
) -> Result<(), ApplyError> {
    let set = path.rsplit_once('/').map_or("", |(dir, _)| dir);
    // Enabling the controller gives all tasks below new cpusets, which drops pins in the same way.
    if value == "+cpuset" {
        let text = stage.system.root().value(&format!("{set}/cpuset.cpus.effective"))?;
        let cpus = text.and_then(|text| CpuSet::parse_list(&text).ok()).unwrap_or_default();
        let is_below = |task: &&TaskState| task.cgroup.as_deref().is_some_and(|cgroup| cgroup != "/");
        for task in tasks.iter().filter(is_below) {
            restore_pin(stage, task, &cpus)?;
        }
        return Ok(());
    }
    let (Ok(former), Ok(cpus)) = (CpuSet::parse_list(former), CpuSet::parse_list(value)) else {
        return Ok(());
    };
    let is_in_set = |task: &&TaskState| {
        let cgroup = task.cgroup.as_deref().filter(|cgroup| *cgroup != "/");
        cgroup.is_some_and(|cgroup| set.ends_with(cgroup))
    };
    for task in tasks.iter().filter(is_in_set).filter(|task| task.mask != former) {
        restore_pin(stage, task, &cpus)?;
    }
    Ok(())
}

pub(super) fn report(
    stage: &mut ActionContext,
    change: &Change,
    before: Option<String>,
    errno: i32,
) -> Result<StepResult, ApplyError> {
    let knob = plan::knobs::of_change(&change.id);
    let reason = match (knob.and_then(|knob| knob.refusal(errno)), errno) {
        (Some(words), _) => words,
        (None, libc::EROFS | libc::EACCES) => "the file is read-only here",
        (None, libc::EINVAL) => "the kernel does not accept this value",
        (None, libc::EIO) => "this kernel or this device has no way to change it",
        (None, _) => "the kernel refused",
    };
    let cause = std::io::Error::from_raw_os_error(errno);
    let message = format!("{} is unchanged: {reason} ({cause}); {}", change.target, change.why);
    let is_interrupt = change.target.starts_with("/proc/irq/");
    // A setting that no program can change is a fact about the machine. 6.12 returns EPERM for interrupts.
    let is_fact = errno == libc::EIO || (is_interrupt && errno == libc::EPERM);
    let level = if is_fact { Level::Info } else { Level::Warning };
    let mut finding = Finding::new(level, FindingId::REFUSED, &change.target, message);
    if is_interrupt {
        finding = finding.fix(plan::knobs::irq_advice(errno));
    }
    stage.findings.push(finding);
    Ok(StepResult::unchanged(before, ChangeOutcome::Refused(errno)))
}
