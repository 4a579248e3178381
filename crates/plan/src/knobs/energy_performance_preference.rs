//! Sets the hint for processors that choose their frequency themselves (`intel_pstate`, `amd_pstate` in active mode).

use super::frequency_policy::policies;
use super::value_file::{ValueFile, set};
use super::{Knob, KnobUse, KnobValueKind, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile};

pub(super) const KNOB: Knob = Knob {
    name: "energy_performance_preference",
    files: &["/sys/devices/system/cpu/cpuN/cpufreq/energy_performance_preference"],
    reads: &["/sys/devices/system/cpu/cpuN/cpufreq/affected_cpus"],
    what: "whether a processor that chooses its frequency itself leans towards speed or power",
    isolation: "performance: it goes up at once and comes down late",
    needs: "intel_pstate or amd_pstate in active mode",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&[
        "default",
        "performance",
        "balance_performance",
        "balance_power",
        "power",
    ]),
    usual: "performance",
    price: ParameterCost::Power,
    side_effects: "CPUs that share the clock of an isolated one run fast too",
    verify: "the files",
    peers: &["TuneD"],
    refused: &[
        (declare::EBUSY, "the governor performance decides it"),
        (declare::EINVAL, "this processor does not offer that preference"),
    ],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for policy in policies(scene, "energy_performance_preference") {
        let file = ValueFile {
            knob: &KNOB,
            part: policy.name,
            path: policy.path,
            value: scene.value_of(&KNOB),
            why: "the processor chooses its frequency itself and would save power in the middle of work",
        };
        presence = presence.max(set(scene, plan, &file));
    }
    presence
}
