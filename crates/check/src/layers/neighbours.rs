//! Reports other programs that set the same knobs, move interrupts back, or assign the same CPUs, as the plan finds them.

use super::{Layer, LayerName};
use crate::{Case, CheckFinding, Evidence, Means};
use plan::FindingId;

pub(super) const LAYER: Layer = Layer {
    name: LayerName::Neighbours,
    what: "irqbalance, TuneD, the kubelet, container runtimes, cset and partrt, and cpusets on these CPUs",
    look,
};

const IDS: &[FindingId] = &[
    FindingId::IRQBALANCE_RUNS,
    FindingId::IRQBALANCE_BAD_LIST,
    FindingId::IRQBALANCE_NOT_BANNED,
    FindingId::IRQBALANCE_UNJUDGED,
    FindingId::OWNER_TUNED,
    FindingId::OWNER_KUBERNETES,
    FindingId::OWNER_CSET,
    FindingId::OWNER_PARTRT,
    FindingId::CONTAINERS_TO_COME,
    FindingId::FOREIGN_CPUSET,
];

fn look(evidence: &Evidence, case: &Case, found: &mut Vec<CheckFinding>) {
    let own = case.cgroup(evidence.machine).map(|(set, _)| set);
    let said = case.plan.iter().flat_map(|plan| &plan.findings);
    for finding in said.filter(|finding| IDS.contains(&finding.id)) {
        let is_own = own.as_deref() == Some(finding.subject.as_str());
        // The program that isolates them is not a neighbour.
        let is_means = match case.wish.means {
            Means::Cpuset(_) => matches!(finding.id, FindingId::OWNER_CSET | FindingId::OWNER_PARTRT),
            Means::Tuned => finding.id == FindingId::OWNER_TUNED,
            _ => false,
        };
        if !is_own && !is_means {
            found.push(CheckFinding::of(finding.clone()));
        }
    }
}
