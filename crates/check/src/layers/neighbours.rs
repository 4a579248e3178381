//! Reports other programs that set the same knobs, move interrupts back, or assign the same CPUs, as the plan finds them.

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, IsolationMeans};
use plan::FindingId;

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::Neighbours,
    what: "irqbalance, TuneD, the kubelet, container runtimes, cset and partrt, and cpusets on these CPUs",
    judge,
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

fn judge(evidence: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let own = case.cgroup(evidence.machine).map(|(set, _)| set);
    let findings = case.plan.iter().flat_map(|plan| &plan.findings);
    for finding in findings.filter(|finding| IDS.contains(&finding.id)) {
        let is_own = own.as_deref() == Some(finding.subject.as_str());
        // The program that isolates them is not a neighbour.
        let is_means = match case.isolation.means {
            IsolationMeans::Cpuset(_) => {
                matches!(finding.id, FindingId::OWNER_CSET | FindingId::OWNER_PARTRT)
            }
            IsolationMeans::Tuned => finding.id == FindingId::OWNER_TUNED,
            _ => false,
        };
        if !is_own && !is_means {
            found.push(CheckFinding::of(finding.clone()));
        }
    }
}
