//! Reports what is unwise or limited about an intent on a machine, independent of the knobs.

use crate::{Finding, FindingId, PlanContext, choose, neighbours, unsupported_kernel};
use machine::Owner;

/// What is unwise or limited about this intent on this machine, independent of the knobs.
pub(crate) fn findings(scene: &PlanContext) -> Vec<Finding> {
    let isolated = scene.isolated();
    let mut findings: Vec<Finding> = unsupported_kernel(&scene.machine.kernel).into_iter().collect();
    findings.extend(choose::findings(scene.machine, isolated));
    if isolated.len() > 1 && !scene.intent.balances_inside() {
        findings.push(
            Finding::info(
                FindingId::NO_BALANCING,
                isolated.to_string(),
                "the kernel does not balance load inside an isolated partition: all threads of a program may run on \
                 one CPU",
            )
            .fix("pin each thread, for example with `quietcore run --cpus`"),
        );
    }
    findings.extend(neighbours::findings(scene));
    for owner in &scene.machine.cgroups.owners {
        let (id, message, sets) = match owner {
            Owner::Cset => (
                FindingId::OWNER_CSET,
                "cset created cpusets on this machine",
                ["/system", "/user"],
            ),
            Owner::Partrt => (
                FindingId::OWNER_PARTRT,
                "partrt created cpusets on this machine",
                ["/nrt", "/rt"],
            ),
            Owner::Docker | Owner::Libvirt | Owner::Kubernetes | Owner::Systemd => continue,
        };
        // Our front ends of these names create them too.
        if sets.iter().all(|set| scene.is_or_will_be_ours(set)) {
            continue;
        }
        findings.push(
            Finding::warning(id, "cgroups", message)
                .fix("undo them first, for example with `cset shield --reset` or `partrt undo`"),
        );
    }
    findings
}
