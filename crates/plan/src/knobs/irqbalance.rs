//! The daemon that spreads interrupts. It reads which CPUs are isolated from the boot line only, so it moves
//! interrupts back onto those of a partition. Its list is read at its start, from a file of the distribution.

use super::{Knob, Presence, Taken};
use crate::{Finding, Level, Plan, Profile, Scene};

pub(super) const KNOB: Knob = Knob {
    name: "irqbalance",
    files: &["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"],
    what: "the daemon that spreads interrupts",
    isolation: "IRQBALANCE_BANNED_CPULIST with the isolated CPUs; it sees those of the boot line by itself, partitions not",
    taken: Taken::From(Profile::Minimal),
    stops: &["device"],
    side_effects: "quietcore only says which line to write: the list replaces what irqbalance found on the boot line",
    verify: "/proc/irq/N/smp_affinity_list a few minutes later: it looks every ten seconds",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &Scene, plan: &mut Plan) -> Presence {
    let tasks = scene.machine.known_tasks().unwrap_or_default();
    let Some(daemon) = tasks.iter().find(|task| task.comm == "irqbalance") else {
        return Presence::Absent;
    };
    let boot = scene.machine.isolation.boot_isolated.as_ref();
    let tick = scene.machine.isolation.nohz_full.as_ref();
    let known = |set: Option<&machine::CpuSet>| set.is_some_and(|set| scene.isolated().is_subset(set));
    if known(boot) || known(tick) {
        return Presence::Here;
    }
    // The list replaces its own findings, so it has to hold them too.
    let none = machine::CpuSet::new();
    let banned = scene
        .isolated()
        .or(boot.unwrap_or(&none))
        .or(tick.unwrap_or(&none));
    let message = format!(
        "irqbalance runs (process {}) and will move interrupts back onto the isolated CPUs",
        daemon.pid
    );
    plan.findings.push(
        Finding::new(Level::Warning, "irqbalance-runs", "irqbalance", message).fix(format!(
            "write IRQBALANCE_BANNED_CPULIST={banned} to /etc/default/irqbalance (Debian, Ubuntu) or \
             /etc/sysconfig/irqbalance (Red Hat, SUSE) and restart it; or stop it"
        )),
    );
    Presence::Here
}
