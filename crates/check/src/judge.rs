//! The verdict on all findings together, and which of them decide the exit status.

use crate::{Counters, Evidence, Found, Intention};
use plan::Level;
use serde::Serialize;

/// Whether the CPUs are as quiet as was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything that was promised was seen.
    Quiet,
    /// An effect that was promised is absent.
    Noisy,
    /// Nothing is seen to be wrong, and not everything could be seen.
    Unknown,
}

/// From which level on a finding fails the check.
pub type Threshold = Level;

/// The findings, judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Findings that count, the worst first.
    pub findings: Vec<Found>,
    /// Findings that the user ignores.
    pub ignored: Vec<Found>,
    /// Why the verdict is unknown where nothing is wrong.
    pub unseen: Vec<String>,
    /// Whether a finding reaches the threshold.
    pub fails: bool,
}

/// Judges what was found. A finding of level error is an effect that is absent.
#[must_use]
pub fn judge(
    evidence: &Evidence,
    intention: &Intention,
    found: Vec<Found>,
    ignore: &[String],
    threshold: Threshold,
) -> Judged {
    let is_ignored = |one: &Found| ignore.iter().any(|pattern| one.is_meant_by(pattern));
    let (ignored, mut findings): (Vec<Found>, Vec<Found>) = found.into_iter().partition(is_ignored);
    findings.sort_by_key(|one| std::cmp::Reverse(one.finding.level));
    let unseen = unseen(evidence, intention);
    let is_wrong = findings.iter().any(|one| one.finding.level == Level::Error);
    let verdict = match (intention.wishes.is_empty(), is_wrong, unseen.is_empty()) {
        (true, _, _) => Verdict::Unknown,
        (false, true, _) => Verdict::Noisy,
        (false, false, true) => Verdict::Quiet,
        (false, false, false) => Verdict::Unknown,
    };
    let fails = findings.iter().any(|one| one.finding.level >= threshold);
    Judged {
        verdict,
        findings,
        ignored,
        unseen,
        fails,
    }
}

/// What nobody could look at, and what a verdict cannot do without.
fn unseen(evidence: &Evidence, intention: &Intention) -> Vec<String> {
    let machine = evidence.machine;
    let mut unseen = Vec::new();
    if machine.tasks.is_none() {
        unseen.push("the machine shows no tasks".to_owned());
    }
    if machine.interrupts.is_none() {
        unseen.push("the machine shows no interrupts".to_owned());
    }
    match evidence.counters {
        Counters::Unseen(why) => unseen.push(format!("no effects were counted: {why}")),
        Counters::Seen(activity) => {
            let seen: machine::CpuSet = activity.cpus.iter().map(|one| one.cpu).collect();
            let missing = intention.cpus().minus(&seen);
            if !missing.is_empty() {
                unseen.push(format!("nothing was counted on CPU {missing}"));
            }
        }
    }
    unseen
}
