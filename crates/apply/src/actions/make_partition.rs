//! Turns a v2 cgroup into a partition, and reads the result back.

use super::move_tasks::restore_pin;
use super::{ActionContext, StepResult, refusal};
use crate::ApplyError;
use crate::census;
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState};
use machine::CpuSet;
use plan::{Change, Finding, FindingId, Level};

pub(crate) fn enact(
    stage: &mut ActionContext,
    change: &Change,
    path: &str,
    words: &[String],
) -> Result<StepResult, ApplyError> {
    let now = stage.system.root().value(path)?;
    let tasks = census::pinned(stage)?;
    let before = StateBefore::Value {
        value: now.clone(),
        tasks: tasks.clone(),
    };
    let seq = stage.record_intent(change, before)?;
    let mut reasons = Vec::new();
    for word in words {
        match stage.system.write(path, word) {
            // 5.0 to 6.0 do not know `isolated` and return EINVAL.
            Err(error) => {
                let errno = refusal(error)?;
                reasons.push(format!(
                    "`{word}` was refused: {}",
                    std::io::Error::from_raw_os_error(errno)
                ));
            }
            Ok(()) => {
                let found = stage.system.root().value(path)?.unwrap_or_default();
                if found == *word {
                    restore_pins(stage, path, &tasks)?;
                    let masks = census::masks_now(stage.system, &tasks);
                    let value = Some(found.clone());
                    stage.record_outcome(seq, ChangeOutcome::Done, StateAfter::Value { value, masks })?;
                    if Some(word) != words.first() {
                        stage.findings.push(fallback(path, word, &reasons));
                    }
                    return Ok(StepResult {
                        seq,
                        before: now,
                        after: Some(found),
                        outcome: ChangeOutcome::Done,
                    });
                }
                reasons.push(format!("`{word}` reads back as `{found}`"));
            }
        }
    }
    let masks = census::masks_now(stage.system, &tasks);
    let found = stage.system.root().value(path)?;
    let outcome = ChangeOutcome::Otherwise(found.clone().unwrap_or_default());
    stage.record_outcome(seq, outcome, StateAfter::Value { value: found, masks })?;
    Err(ApplyError::Unable {
        why: format!("{path}: {}", reasons.join("; ")),
        next: advice(&reasons).to_owned(),
    })
}

/// Restores the pins of kernel threads: before 7.0 the kernel gives all of them every remaining CPU.
/// Tasks in the partition itself get its CPUs.
fn restore_pins(stage: &mut ActionContext, path: &str, tasks: &[TaskState]) -> Result<(), ApplyError> {
    let partition = path.rsplit_once('/').and_then(|(dir, _)| dir.strip_prefix(stage.mount));
    let file = format!("{}/cpuset.cpus.effective", stage.mount);
    let text = stage.system.root().value(&file)?;
    let Some(rest) = text.and_then(|text| CpuSet::parse_list(&text).ok()) else {
        return Ok(());
    };
    let is_inside = |task: &&TaskState| {
        task.cgroup
            .as_ref()
            .zip(partition)
            .is_some_and(|(own, set)| machine::is_within(own, set))
    };
    for task in tasks.iter().filter(|task| !is_inside(task)) {
        restore_pin(stage, task, &rest)?;
    }
    Ok(())
}

fn fallback(path: &str, word: &str, reasons: &[String]) -> Finding {
    let message = format!(
        "the partition is `{word}`, because {}: its CPUs are exclusive, but the kernel balances load between them",
        reasons.join("; ")
    );
    Finding::new(Level::Warning, FindingId::PARTITION_FALLBACK, path, message)
        .fix("use kernel 6.1 or later for `isolated`")
}

/// The advice for each of the kernel's reasons (`perr_strings` in `kernel/cgroup/cpuset.c`).
fn advice(reasons: &[String]) -> &'static str {
    let all = reasons.join(" ");
    let table = [
        (
            "not exclusive",
            "another cgroup contains the same CPUs (AllowedCPUs= of a slice?); narrow it, then try again",
        ),
        (
            "not a partition root",
            "the parent is not a partition root; run outside the container or the delegated cgroup",
        ),
        ("distribute", "the parent would have no CPU left; isolate fewer CPUs"),
        ("hotplug", "all CPUs of the partition are offline; bring one online"),
        (
            "housekeeping",
            "the CPUs conflict with isolcpus= or nohz_full= of this boot; use those, or boot without",
        ),
        (
            "not permitted",
            "this cgroup is delegated; run from the root cgroup namespace as root",
        ),
    ];
    table
        .iter()
        .find(|(words, _)| all.contains(words))
        .map_or("use kernel 6.1 or later, or cgroup v1", |(_, advice)| advice)
}
