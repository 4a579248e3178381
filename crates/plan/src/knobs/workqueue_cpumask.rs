//! Sets which CPUs the kworkers of unbound workqueues (`kworker/u*`) may use.

use super::mask_file::{MaskFile, without_isolated};
use super::{Knob, KnobUse, Presence};
use crate::{Plan, PlanContext, Profile, ReadbackComparison};

const PATH: &str = "/sys/devices/virtual/workqueue/cpumask";

pub(super) const KNOB: Knob = Knob {
    name: "workqueue_cpumask",
    what: "the CPUs that unbound workqueues may use; from 6.8 on isolated partitions change it by themselves",
    files: &[PATH],
    since: "4.2",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["kworker_unbound"],
    side_effects: "none",
    verify: "the file, and Cpus_allowed_list of the kworker/u* threads",
    peers: &["partrt", "TuneD"],
    compare: ReadbackComparison::Mask,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let file = MaskFile {
        knob: &KNOB,
        part: "",
        path: PATH,
        why: "unbound kernel work stays on housekeeping CPUs",
    };
    let now = scene.machine.isolation.workqueue_cpumask.as_ref();
    plan.changes.extend(without_isolated(scene, now, &file));
    now.map_or(Presence::Absent, |_| Presence::Here)
}
