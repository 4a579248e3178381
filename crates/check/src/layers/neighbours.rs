//! Reports other programs that set the same knobs, move interrupts back, or assign the same CPUs, as the plan finds them.

use super::Layer;
use crate::{Case, CheckFinding, Evidence, Means};

pub(super) const LAYER: Layer = Layer {
    name: "neighbours",
    what: "irqbalance, TuneD, the kubelet, container runtimes, cset and partrt, and cpusets on these CPUs",
    look,
};

const IDS: &[&str] = &[
    "irqbalance-runs",
    "irqbalance-bad-list",
    "irqbalance-not-banned",
    "irqbalance-unjudged",
    "owner-tuned",
    "owner-kubernetes",
    "owner-cset",
    "owner-partrt",
    "containers-to-come",
    "foreign-cpuset",
];

fn look(evidence: &Evidence, case: &Case, found: &mut Vec<CheckFinding>) {
    let own = case.cgroup(evidence.machine).map(|(set, _)| set);
    let said = case.plan.iter().flat_map(|plan| &plan.findings);
    for finding in said.filter(|finding| IDS.contains(&finding.id.as_str())) {
        let is_own = own.as_deref() == Some(finding.subject.as_str());
        // The program that isolates them is not a neighbour.
        let is_means = match case.wish.means {
            Means::Cpuset(_) => matches!(finding.id.as_str(), "owner-cset" | "owner-partrt"),
            Means::Tuned => finding.id == "owner-tuned",
            _ => false,
        };
        if !is_own && !is_means {
            found.push(CheckFinding::of(finding.clone()));
        }
    }
}
