//! Configures irqbalance, the daemon that distributes interrupts. It reads isolated CPUs from the boot line only, so it
//! moves interrupts back onto the CPUs of a partition. It can be configured over its socket, or in a file that it reads
//! when it starts.

use super::{Knob, KnobUse, Presence};
use crate::{Action, Change, Finding, FindingId, Plan, PlanContext, Profile};
use machine::{CpuSet, Machine, irqbalance};

pub(super) const KNOB: Knob = Knob {
    name: "irqbalance",
    files: &[
        "/run/irqbalance/irqbalancePID.sock",
        "/etc/default/irqbalance",
        "/etc/sysconfig/irqbalance",
        "/etc/irqbalance.env",
    ],
    what: "the daemon that spreads interrupts",
    isolation: "adds the isolated CPUs to those that it bans; it detects those of the boot line itself, but not \
         partitions",
    needs: "a running irqbalance; one without a socket is configured with IRQBALANCE_BANNED_CPULIST in its file, and a \
         restart",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["device"],
    side_effects: "it places all interrupts again at its next scan, at most ten seconds later, and once more after \
         undo; a list that it receives replaces what it found at its start, so quietcore sends both",
    verify: "`setup` on its socket answers BANNED with the CPUs after its next scan; smp_affinity_list excludes them",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(_: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    plan.findings.extend(configured(scene));
    plan.findings.extend(unjudged(scene.machine));
    let Some(daemon) = scene.machine.irqbalance() else {
        return Presence::Absent;
    };
    let boot = scene.machine.isolation.boot_isolated.as_ref();
    let tick = scene.machine.isolation.nohz_full.as_ref();
    let known = |set: Option<&CpuSet>| set.is_some_and(|set| scene.isolated().is_subset(set));
    if known(boot) || known(tick) {
        return Presence::Here;
    }
    if !scene.machine.has_irqbalance_socket(daemon.pid) {
        plan.findings
            .push(advice(scene.machine, scene.isolated(), daemon.pid, ""));
        return Presence::Here;
    }
    let [address, ..] = irqbalance::addresses(daemon.pid);
    let after = format!("also bans {}", scene.isolated());
    let action = Action::BanCpus {
        daemon: daemon.key,
        cpus: scene.isolated().clone(),
    };
    plan.changes.push(Change {
        id: format!("irqbalance/{}", daemon.pid),
        why: "irqbalance moves interrupts back to the CPUs of a partition".to_owned(),
        ..Change::new(&address.text(), &after, "remove these CPUs from its list again", action)
    });
    Presence::Here
}

/// What is wrong in the files that it reads when it starts.
fn configured(scene: &PlanContext) -> Vec<Finding> {
    let (machine, isolated) = (scene.machine, scene.isolated());
    // A daemon configured over its socket bans those CPUs until it ends.
    let is_notified = machine
        .irqbalance()
        .is_some_and(|daemon| machine.has_irqbalance_socket(daemon.pid));
    let bans = machine.irqbalance_bans.iter();
    bans.filter_map(|ban| {
        let paths = ban.paths.join(", ");
        let list = format!("IRQBALANCE_BANNED_CPULIST={}", to_ban(machine, isolated));
        let fix = match ban.is_in_unit() {
            true => format!("write Environment={list} there, run `systemctl daemon-reload` and restart irqbalance"),
            false => format!("write {list} there and restart irqbalance"),
        };
        let (id, message) = match &ban.banned {
            Err(error) => (
                FindingId::IRQBALANCE_BAD_LIST,
                format!("{}: {}; irqbalance does not ban the intended CPUs", ban.text, error.why),
            ),
            Ok(banned) => {
                let missing = isolated.minus(banned);
                if missing.is_empty() || is_notified {
                    return None;
                }
                (
                    FindingId::IRQBALANCE_NOT_BANNED,
                    format!(
                        "{} does not ban CPU {missing}: the list replaces the isolated CPUs that irqbalance detects \
                         itself",
                        ban.text
                    ),
                )
            }
        };
        Some(Finding::warning(id, paths, message).fix(fix))
    })
    .collect()
}

/// Its configuration, and what cannot be judged from its files.
fn unjudged(machine: &Machine) -> impl Iterator<Item = Finding> {
    machine.irqbalance_unjudged.iter().map(|one| {
        let message = format!("irqbalance is started with {}: {}", one.text, one.why);
        Finding::info(FindingId::IRQBALANCE_UNJUDGED, &one.path, message)
            .fix("check that it leaves the isolated CPUs alone; `quietcore check` shows where interrupts are allowed")
    })
}

/// The CPUs of a list for irqbalance: the list replaces what the daemon detects by itself, so it must include that too.
fn to_ban(machine: &Machine, isolated: &CpuSet) -> CpuSet {
    let found = [&machine.isolation.boot_isolated, &machine.isolation.nohz_full];
    let found = found.into_iter().flatten();
    found.fold(isolated.clone(), |all, cpus| all.or(cpus))
}

/// What a user can do about an irqbalance that cannot be configured, and `why` it cannot.
#[must_use]
pub fn advice(machine: &Machine, isolated: &CpuSet, pid: u32, why: &str) -> Finding {
    let banned = to_ban(machine, isolated);
    let why = match (why, machine.is_captured()) {
        ("", true) => {
            "; a captured machine does not show whether it listens on its socket, which `apply` would use, nor what it \
             already bans"
        }
        ("", false) => "; it has no socket, so quietcore cannot configure it now",
        (why, _) => why,
    };
    let message = format!("irqbalance runs (process {pid}) and will move interrupts back to the isolated CPUs{why}");
    Finding::warning(FindingId::IRQBALANCE_RUNS, "irqbalance", message).fix(format!(
        "write IRQBALANCE_BANNED_CPULIST={banned} to /etc/default/irqbalance (Debian, Ubuntu) or \
         /etc/sysconfig/irqbalance (Red Hat, SUSE) and restart it; or stop it"
    ))
}
