//! Checks every other knob of the profile: queues, workqueues, sysctls, frequency, idle states. Planned again, a knob
//! that still holds changes nothing.

use super::{Layer, LayerName};
use crate::{Case, CheckFinding, Evidence, Means};
use plan::{Action, Change, FindingId, Level, knobs};

pub(super) const LAYER: Layer = Layer {
    name: LayerName::Knobs,
    what: "every file that the profile sets: queues, workqueues, sysctls, frequency and idle states",
    look,
};

/// Knobs that other layers check.
const ELSEWHERE: &[&str] = &[
    "cpuset_partition",
    "systemd_slice",
    "foreign_cpusets",
    "task_placement",
    "irq_affinity",
];

fn look(_: &Evidence, case: &Case, found: &mut Vec<CheckFinding>) {
    let mine = found.len();
    for change in case
        .changes()
        .filter(|change| !ELSEWHERE.contains(&change.knob()))
    {
        found.extend(lost(case, change));
    }
    // The journal knows the exact values that were written, including those for which a plan of today would choose another.
    let elsewhere = |path: &str| path.starts_with("/proc/irq/") || path.contains("cpuset");
    for drift in &case.wish.drift {
        let is_said = found
            .iter()
            .skip(mine)
            .any(|one| one.finding.subject == drift.subject);
        if !is_said && !elsewhere(&drift.subject) {
            found.push(CheckFinding::of(drift.clone()));
        }
    }
}

fn lost(case: &Case, change: &Change) -> Option<CheckFinding> {
    let (now, wanted) = match &change.action {
        Action::Write { value, compare, .. } => {
            let now = case.now(change)?;
            if compare.same(now, value) {
                return None;
            }
            (now.to_owned(), value.clone())
        }
        // A daemon started since does not know the bans of its predecessor.
        Action::BanCpus { .. }
            if case.wish.means == Means::Partition && !case.wish.applied.contains(&change.id) =>
        {
            (
                "it started since then and was not notified".to_owned(),
                change.after.clone(),
            )
        }
        _ => return None,
    };
    if let Some(why) = case.wish.refused.get(&change.id) {
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
        "{} is at `{now}` and the profile sets `{wanted}`: {}{}",
        change.knob(),
        change.why,
        case.mending(change)
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
    Some(match case.wish.means {
        Means::Partition => found.fix(case.remedy()).repaired_by(change.clone()),
        _ => found.fix(format!(
            "echo '{wanted}' >{}, or {}",
            change.target,
            case.remedy()
        )),
    })
}
