//! Where interrupts start that are requested later.

use super::Knob;
use crate::{Action, Change, ChangeKind, Compare, OnRefusal, Plan, Profile, Scene, Undo};

const PATH: &str = "/proc/irq/default_smp_affinity";

pub(super) const KNOB: Knob = Knob {
    name: "default_smp_affinity",
    what: "the mask that a newly requested interrupt starts with; the run-time twin of irqaffinity=",
    since: "2.6.19",
    from: Profile::Minimal,
    stops: &["device"],
    side_effects: "none",
    verify: "the file; drivers that set their own affinity and managed interrupts ignore it",
    peers: &["partrt", "tuna", "TuneD", "pyperf"],
    plan,
};

fn plan(scene: &Scene, plan: &mut Plan) {
    let Some(now) = &scene.machine.isolation.default_smp_affinity else {
        return;
    };
    if !now.intersects(scene.isolated()) {
        return;
    }
    let rest = now.minus(scene.isolated());
    let rest = if rest.is_empty() {
        scene.housekeeping.clone()
    } else {
        rest
    };
    let width = scene
        .machine
        .topology
        .possible
        .as_ref()
        .and_then(|set| set.last())
        .map_or(1, |cpu| cpu.0 + 1);
    plan.changes.push(Change {
        id: "default_smp_affinity".to_owned(),
        target: PATH.to_owned(),
        kind: ChangeKind::Runtime,
        before: Some(now.to_mask(width)),
        after: rest.to_mask(width),
        why: "interrupts requested from now on start on housekeeping CPUs".to_owned(),
        undo: "write the former mask".to_owned(),
        action: Action::Write {
            path: PATH.to_owned(),
            // The file takes masks only, no list form (kernel/irq/proc.c, default_affinity_write).
            value: rest.to_mask(width),
            compare: Compare::Mask,
            on_refusal: OnRefusal::Report,
            undo: Undo::Restore,
        },
    });
}
