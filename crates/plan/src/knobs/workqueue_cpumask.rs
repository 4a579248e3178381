//! Unbound workqueues: which CPUs their kworkers (`kworker/u*`) may use.

use super::Knob;
use crate::{Action, Change, ChangeKind, Compare, OnRefusal, Plan, Profile, Scene, Undo};

const PATH: &str = "/sys/devices/virtual/workqueue/cpumask";

pub(super) const KNOB: Knob = Knob {
    name: "workqueue_cpumask",
    what: "the CPUs that unbound workqueues may use; from 6.8 on isolated partitions change it by themselves",
    since: "4.2",
    from: Profile::Minimal,
    stops: &["kworker_unbound"],
    side_effects: "none",
    verify: "the file, and Cpus_allowed_list of the kworker/u* threads",
    peers: &["partrt", "TuneD"],
    plan,
};

fn plan(scene: &Scene, plan: &mut Plan) {
    let Some(now) = &scene.machine.isolation.workqueue_cpumask else {
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
        id: "workqueue_cpumask".to_owned(),
        target: PATH.to_owned(),
        kind: ChangeKind::Runtime,
        before: Some(now.to_mask(width)),
        after: rest.to_mask(width),
        why: "unbound kernel work stays on housekeeping CPUs".to_owned(),
        undo: "write the former mask".to_owned(),
        action: Action::Write {
            path: PATH.to_owned(),
            value: rest.to_mask(width),
            compare: Compare::Mask,
            on_refusal: OnRefusal::Report,
            undo: Undo::Restore,
        },
    });
}
