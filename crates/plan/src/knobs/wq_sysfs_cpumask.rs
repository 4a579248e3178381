//! Sets the CPUs of workqueues with a sysfs directory (`WQ_SYSFS`, `kernel/workqueue.c`): writeback, and those of some
//! drivers. Each has its own mask; the kernel uses its intersection with the mask of all unbound workqueues.

use super::mask_file::{MaskFile, narrow};
use super::{Knob, KnobUse, Presence};
use crate::{Plan, PlanContext, Profile, ReadbackComparison};

const PREFIX: &str = "/sys/devices/virtual/workqueue/";

pub(super) const KNOB: Knob = Knob {
    name: "wq_sysfs_cpumask",
    aliases: &["writeback_cpumask"],
    files: &["/sys/devices/virtual/workqueue/NAME/cpumask"],
    what: "the CPUs that one unbound workqueue may use: writeback of dirty pages, block cgroups, some drivers",
    isolation: "the housekeeping CPUs; the mask of all unbound workqueues covers it too, until a program widens that",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["kworker_unbound"],
    side_effects: "none",
    verify: "the files, and Cpus_allowed_list of the kworker/u* threads",
    peers: &["TuneD"],
    compare: ReadbackComparison::Mask,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for (name, path, _) in scene.settings.family(PREFIX, "/cpumask") {
        let file = MaskFile {
            knob: &KNOB,
            part: name,
            path,
            why: "the work of this queue stays on housekeeping CPUs",
        };
        presence = presence.max(narrow(scene, plan, &file));
    }
    presence
}
