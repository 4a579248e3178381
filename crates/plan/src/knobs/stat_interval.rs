//! Sets the folding of memory statistics (`mm/vmstat.c`): in every interval a worker runs on each CPU that has
//! something to fold. Kernels leave isolated CPUs alone since 6.5: at first those of the boot line and of nohz_full,
//! since 6.7 also those of partitions (`cpu_is_isolated`).

use super::value_file::{is_requested, set_text};
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::{Plan, PlanContext, Profile};

const PATH: &str = "/proc/sys/vm/stat_interval";

pub(super) const KNOB: Knob = Knob {
    name: "stat_interval",
    files: &[PATH],
    what: "seconds between folds of memory statistics (vmstat_update)",
    isolation: "60 or more thins them out on kernels before 6.5; later ones leave isolated CPUs alone",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Number(1, 86_400),
    usual: "120",
    stops: &["kworker"],
    side_effects: "/proc/vmstat and /proc/meminfo lag behind",
    verify: "the file, and vmstat_update among what the kworkers of the CPU do",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let now = scene.settings.get(PATH).and_then(|now| now.parse::<i64>().ok());
    let usual = KNOB.usual.parse::<i64>().unwrap_or_default();
    // A longer interval was set deliberately.
    if !is_requested(scene, &KNOB) && now.is_some_and(|now| now >= usual) {
        return Presence::Here;
    }
    set_text(
        scene,
        plan,
        &KNOB,
        PATH,
        "every fold runs a worker on each CPU that has something to fold",
    )
}
