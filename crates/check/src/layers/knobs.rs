//! Checks every other knob of the profile: queues, workqueues, sysctls, frequency, idle states. Planned again, a knob
//! that still holds changes nothing.

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, IsolationMeans};
use plan::{Action, Change, FindingId, Level, knobs};

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::Knobs,
    what: "every file that the profile sets: queues, workqueues, sysctls, frequency and idle states",
    judge,
};

/// Knobs that other layers check.
const ELSEWHERE: &[&str] = &[
    "cpuset_partition",
    "systemd_slice",
    "foreign_cpusets",
    "task_placement",
    "irq_affinity",
];

fn judge(_: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let own_start = found.len();
    for change in case.changes().filter(|change| !ELSEWHERE.contains(&change.knob())) {
        found.extend(lost(case, change));
    }
    // The journal knows the exact values that were written, including those for which a plan of today would choose another.
    let elsewhere = |path: &str| path.starts_with("/proc/irq/") || path.contains("cpuset");
    for drift in &case.isolation.drift {
        let is_reported = found
            .iter()
            .skip(own_start)
            .any(|one| one.finding.subject == drift.subject);
        if !is_reported && !elsewhere(&drift.subject) {
            found.push(CheckFinding::of(drift.clone()));
        }
    }
}

fn lost(case: &CheckCase, change: &Change) -> Option<CheckFinding> {
    let (now, intended) = match &change.action {
        Action::Write { value, compare, .. } => {
            let now = case.now(change)?;
            if compare.same(now, value) {
                return None;
            }
            (now.to_owned(), value.clone())
        }
        // A daemon started since does not know the bans of its predecessor.
        Action::BanCpus { .. }
            if case.isolation.means == IsolationMeans::Partition && !case.isolation.applied.contains(&change.id) =>
        {
            (
                "it started after that and has not been configured".to_owned(),
                change.after.clone(),
            )
        }
        _ => return None,
    };
    if let Some(why) = case.isolation.refused.get(&change.id) {
        let message = format!(
            "{} stays at `{now}`: the kernel refused it when it was applied ({why})",
            change.knob()
        );
        return Some(CheckFinding::new(
            Level::Info,
            FindingId::KNOB_REFUSED,
            &change.target,
            message,
        ));
    }
    let message = format!(
        "{} is at `{now}` and the profile sets `{intended}`: {}{}",
        change.knob(),
        change.why,
        case.failed_repair_note(change)
    );
    let found = CheckFinding::new(Level::Error, FindingId::KNOB_LOST, &change.target, message)
        .seen(format!("{} reads `{now}`", change.target));
    let stops = knobs::of_change(&change.id)
        .map(|knob| knob.stops.join(", "))
        .unwrap_or_default();
    let found = match stops.as_str() {
        "" => found,
        stops => found.seen(format!(
            "it stops: {stops}; `quietcore explain {}` says more",
            change.knob()
        )),
    };
    Some(match case.isolation.means {
        IsolationMeans::Partition => found.fix(case.remedy()).repaired_by(change.clone()),
        _ => found.fix(format!("echo '{intended}' >{}, or {}", change.target, case.remedy())),
    })
}
