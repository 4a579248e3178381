//! Sets the lowest frequency of a CPU.

use super::frequency_policy::policies;
use super::value_file::{ValueFile, is_requested, set};
use super::{Knob, KnobUse, KnobValueKind, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile};

pub(super) const KNOB: Knob = Knob {
    name: "scaling_min_freq",
    files: &["/sys/devices/system/cpu/cpuN/cpufreq/scaling_min_freq"],
    reads: &[
        "/sys/devices/system/cpu/cpuN/cpufreq/scaling_max_freq",
        "/sys/devices/system/cpu/cpuN/cpufreq/affected_cpus",
    ],
    what: "the lowest frequency that a CPU may take, in kHz",
    isolation: "as high as scaling_max_freq: the frequency stays where it is",
    needs: "a machine whose frequency the kernel scales; virtual ones have none",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Number(1, 100_000_000),
    price: ParameterCost::Power,
    side_effects: "the kernel rounds to a frequency that it knows; CPUs that share the clock run fast too",
    verify: "the files",
    peers: &["TuneD"],
    refused: &[(declare::EINVAL, "it is above scaling_max_freq")],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for policy in policies(scene, "scaling_min_freq") {
        presence = Presence::Here;
        let top = scene.settings.get(&format!("{}scaling_max_freq", policy.dir));
        let value = match is_requested(scene, &KNOB) {
            true => Some(scene.value_of(&KNOB)),
            false => top,
        };
        let Some(value) = value else { continue };
        let file = ValueFile {
            knob: &KNOB,
            part: policy.name,
            path: policy.path,
            value,
            why: "a CPU that may slow down does the same work in unequal time",
        };
        set(scene, plan, &file);
    }
    presence
}
