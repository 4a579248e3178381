//! Interrupts with a number: where each may fire.
//!
//! The kernel refuses for interrupts whose mask it manages itself (EIO up to 6.9 or so, EPERM later) and for
//! those that no chip can route; these are named, not fought.

use super::Knob;
use crate::{Action, Change, ChangeKind, Compare, Finding, Level, OnRefusal, Plan, Profile, Scene, Undo};
use machine::{CpuSet, Interrupt};

/// Vectors of one x86 CPU that devices can use: 256 less the first 32 and the system's own at the top
/// (`FIRST_SYSTEM_VECTOR`), with a reserve for interrupts that are requested later.
const VECTORS_PER_CPU: usize = 180;

pub(super) const KNOB: Knob = Knob {
    name: "irq_affinity",
    what: "the CPUs that an interrupt of a device may fire on",
    since: "2.4; effective_affinity 4.13",
    from: Profile::Minimal,
    stops: &["device"],
    side_effects: "an idle interrupt moves only when it fires next",
    verify: "/proc/irq/N/effective_affinity_list, and the columns of /proc/interrupts over time",
    peers: &["partrt", "tuna", "TuneD", "pyperf", "irqbalance"],
    plan,
};

fn plan(scene: &Scene, plan: &mut Plan) {
    let Some(interrupts) = &scene.machine.interrupts else {
        return;
    };
    let (mut moved, mut resident) = (0, 0);
    for interrupt in interrupts {
        let Some(affinity) = interrupt
            .affinity
            .as_ref()
            .filter(|now| now.intersects(scene.isolated()))
        else {
            resident += usize::from(!interrupt.name.is_empty());
            continue;
        };
        if interrupt.managed == Some(true) {
            plan.findings.push(managed(scene, interrupt));
            continue;
        }
        moved += 1;
        plan.changes.push(evacuate(scene, interrupt, affinity));
    }
    let room = scene.housekeeping.len() * VECTORS_PER_CPU;
    // Only x86 has so few: an arm GIC numbers its interrupts for all CPUs together.
    let is_arm = interrupts.iter().any(|interrupt| interrupt.chip.contains("GIC"));
    if moved > 0 && moved + resident > room && !is_arm {
        let message = format!(
            "{} interrupts would share the vectors of {} CPUs",
            moved + resident,
            scene.housekeeping.len()
        );
        plan.findings.push(
            Finding::new(Level::Warning, "vector-space", "interrupts", message)
                .fix("keep more housekeeping CPUs, or fewer queues per device"),
        );
    }
}

fn evacuate(scene: &Scene, interrupt: &Interrupt, now: &CpuSet) -> Change {
    let rest = now.minus(scene.isolated());
    let rest = if rest.and(&scene.housekeeping).is_empty() {
        scene.housekeeping.clone()
    } else {
        rest
    };
    let path = format!("/proc/irq/{}/smp_affinity_list", interrupt.irq);
    let name = if interrupt.name.is_empty() {
        "not requested"
    } else {
        &interrupt.name
    };
    Change {
        id: format!("irq_affinity/{}", interrupt.irq),
        target: path.clone(),
        kind: ChangeKind::Runtime,
        before: Some(now.to_string()),
        after: rest.to_string(),
        why: format!("interrupt {} ({name}) may fire on an isolated CPU", interrupt.irq),
        undo: "write the former list".to_owned(),
        action: Action::Write {
            path,
            value: rest.to_string(),
            compare: Compare::List,
            on_refusal: OnRefusal::Report,
            undo: Undo::Restore,
        },
    }
}

fn managed(scene: &Scene, interrupt: &Interrupt) -> Finding {
    let fires_there = interrupt
        .effective
        .as_ref()
        .is_some_and(|set| set.intersects(scene.isolated()));
    let level = if fires_there { Level::Warning } else { Level::Info };
    let subject = format!("irq/{}", interrupt.irq);
    let message = format!(
        "interrupt {} ({}) has a mask that the kernel manages itself and cannot be moved",
        interrupt.irq, interrupt.name
    );
    Finding::new(level, "irq-managed", subject, message).fix(format!(
        "boot with isolcpus=managed_irq,domain,{}; or let nothing on the isolated CPUs use the device",
        scene.isolated()
    ))
}
