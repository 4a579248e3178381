//! Reports what is unwise about named CPUs: the same limits and rules, as findings. `--cpus` is still obeyed.

use super::CpuRequest;
use super::context::ChoiceContext;
use super::limits::{CandidateLimits, is_in_use};
use super::rules::{DomainShare, RULES, broken};
use crate::{Finding, FindingId};
use machine::{CoreKind, CpuSet, Machine};

/// Above this number, places are counted instead of listed.
const MAX_LISTED: usize = 4;

/// Findings about a set of CPUs on a machine.
pub(crate) fn findings(machine: &Machine, set: &CpuSet) -> Vec<Finding> {
    let request = CpuRequest {
        count: Some(set.len()),
        ..CpuRequest::default()
    };
    let limits = CandidateLimits {
        available: set.clone(),
        guarded: Vec::new(),
        reasons: Vec::new(),
    };
    let context = ChoiceContext::new(machine, &request, &limits);
    let mut findings = Vec::new();
    for rule in RULES {
        let Some(breach) = &rule.breach else { continue };
        let shares = broken(&context, rule, set);
        for (place, share) in shares.iter().take(MAX_LISTED).enumerate() {
            let mut message = (breach.message)(share);
            if place == 0 {
                message = format!("{message}; {}", rule.because);
            }
            findings.push(
                Finding::new(breach.level, FindingId::of_rule(rule.id), subject(share), message)
                    .fix((breach.fix)(share)),
            );
        }
        if let Some(more) = shares.get(MAX_LISTED..).filter(|more| !more.is_empty()) {
            let cpus = CpuSet::union(more.iter().map(|share| &share.isolated));
            let message = format!("the same applies to {} more places", more.len());
            findings.push(Finding::new(
                breach.level,
                FindingId::of_rule(rule.id),
                format!("cpu{cpus}"),
                message,
            ));
        }
    }
    findings.extend(limits_broken(machine, set, &request));
    findings
}

fn subject(share: &DomainShare) -> String {
    format!("cpu{}", share.isolated)
}

/// The limits of a choice that a user may override.
fn limits_broken(machine: &Machine, set: &CpuSet, request: &CpuRequest) -> Vec<Finding> {
    let topology = &machine.topology;
    let mut findings = Vec::new();
    if let Some(boot) = topology.boot_cpu.filter(|&boot| set.contains(boot)) {
        let message = format!(
            "the kernel booted on CPU {boot}: it cannot be a nohz_full CPU, and suspend and reboot return to it"
        );
        findings.push(
            Finding::warning(FindingId::BOOT_CPU, format!("cpu{boot}"), message)
                .fix(format!("leave CPU {boot} to housekeeping")),
        );
    }
    let of_kind = |kind| topology.cpus_where(|cpu| cpu.kind == Some(kind) && set.contains(cpu.id));
    let (fast, slow) = (of_kind(CoreKind::Performance), of_kind(CoreKind::Efficiency));
    if topology.is_hybrid() && !fast.is_empty() && !slow.is_empty() {
        let message = format!(
            "CPU {fast} are performance cores and CPU {slow} efficiency cores: the same work runs at two speeds"
        );
        let fix = "choose one kind, or pin each thread to the kind that it needs";
        findings.push(Finding::warning(FindingId::ONE_KIND, format!("cpu{set}"), message).fix(fix));
    }
    for node in topology.nodes.iter().filter(|_| topology.nodes.len() > 1) {
        let cpus = topology.cpus_where(|cpu| cpu.online && cpu.node == Some(node.id));
        if !cpus.is_empty() && cpus.is_subset(set) && is_in_use(machine, node, request) {
            let message = format!(
                "node {} keeps no housekeeping CPU: its memory, devices and tasks need one nearby",
                node.id
            );
            let fix = format!("leave one of CPU {cpus} out");
            let subject = format!("node{}", node.id);
            findings.push(Finding::warning(FindingId::NODE_HOUSEKEEPING, subject, message).fix(fix));
        }
    }
    findings
}
