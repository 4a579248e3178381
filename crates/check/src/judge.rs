//! Judges all findings together, and determines which of them decide the exit status.

use crate::{CheckEvidence, CheckFinding, Intention, ObservedActivity};
use machine::Machine;
use machine::OrderBy;
use plan::Level;
use serde::Serialize;

/// Whether the CPUs are as quiet as promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// Everything promised was observed.
    Quiet,
    /// A promised effect is absent.
    Noisy,
    /// No fault was observed, but not everything could be observed.
    Unknown,
}

/// The lowest level of a finding that fails the check.
pub type FailureThreshold = Level;

/// The findings and the verdict.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// The verdict.
    pub verdict: CheckVerdict,
    /// Findings that count, worst first.
    pub findings: Vec<CheckFinding>,
    /// Findings that the user ignores.
    pub ignored: Vec<CheckFinding>,
    /// Ignore patterns for a single subject that match no finding.
    pub unused: Vec<String>,
    /// Why the verdict is unknown if nothing is wrong.
    pub unseen: Vec<String>,
    /// Whether a finding reaches the threshold.
    pub fails: bool,
}

/// Judges the findings. A finding of level error is an absent effect.
#[must_use]
pub fn judge(
    evidence: &CheckEvidence,
    intention: &Intention,
    found: Vec<CheckFinding>,
    ignore: &[String],
    threshold: FailureThreshold,
) -> CheckResult {
    let is_ignored = |one: &CheckFinding| ignore.iter().any(|pattern| one.is_meant_by(pattern));
    let is_unused = |pattern: &&String| pattern.contains(':') && !found.iter().any(|one| one.is_meant_by(pattern));
    let unused = ignore.iter().filter(is_unused).cloned().collect();
    let (ignored, mut findings): (Vec<CheckFinding>, Vec<CheckFinding>) = found.into_iter().partition(is_ignored);
    findings.order_by_key(|one| std::cmp::Reverse(one.finding.level));
    let unseen = unseen(evidence, intention);
    let is_wrong = findings.iter().any(|one| one.finding.level == Level::Error);
    let verdict = match (intention.isolations.is_empty(), is_wrong, unseen.is_empty()) {
        (true, _, _) => CheckVerdict::Unknown,
        (false, true, _) => CheckVerdict::Noisy,
        (false, false, true) => CheckVerdict::Quiet,
        (false, false, false) => CheckVerdict::Unknown,
    };
    let fails = findings.iter().any(|one| one.finding.level >= threshold);
    CheckResult {
        verdict,
        findings,
        ignored,
        unused,
        unseen,
        fails,
    }
}

/// Which threads, interrupts and control groups we were not allowed to read.
fn denied(machine: &Machine) -> Option<String> {
    let places = [
        "/proc/irq/",
        "/proc/interrupts",
        "/sys/fs/cgroup/",
        "/sys/devices/system/cpu/",
    ];
    let is_needed = |path: &str| places.iter().any(|place| path.starts_with(place));
    let mut all = machine
        .unreadable
        .iter()
        .filter(|one| is_needed(&one.path) && one.is_denied());
    let first = all.next()?;
    Some(match all.count() {
        0 => format!("{} is readable for root only", first.path),
        more => format!("{} and {more} more files are readable for root only", first.path),
    })
}

/// What could not be observed, but is necessary for a verdict.
fn unseen(evidence: &CheckEvidence, intention: &Intention) -> Vec<String> {
    let machine = evidence.machine;
    let mut unseen = intention.unseen.clone();
    if machine.task_count().is_none() {
        unseen.push("the machine reports no tasks".to_owned());
    } else if !machine.is_captured() && machine.hides_tasks() {
        unseen.push("/proc hides the tasks of other users (hidepid)".to_owned());
    }
    unseen.extend(denied(machine));
    if machine.interrupts.is_none() {
        unseen.push("the machine reports no interrupts".to_owned());
    }
    match evidence.counters {
        ObservedActivity::Unseen(why) => unseen.push(format!("effects were not counted: {why}")),
        ObservedActivity::Seen(activity) => {
            let seen: machine::CpuSet = activity.cpus.iter().map(|one| one.cpu).collect();
            let missing = intention.cpus().minus(&seen);
            if !missing.is_empty() {
                unseen.push(format!("nothing was counted on CPU {missing}"));
            }
        }
    }
    unseen
}
