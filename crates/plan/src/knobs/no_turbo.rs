//! Disables frequencies above what all cores can sustain together: how high a core goes depends on the load of its neighbours.

use super::value_file::{ValueFile, set};
use super::{Knob, KnobUse, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext};

const INTEL: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const OTHERS: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub(super) const KNOB: Knob = Knob {
    name: "no_turbo",
    aliases: &["boost"],
    files: &[INTEL, OTHERS],
    what: "whether turbo frequencies are used, on all CPUs",
    isolation: "1 (boost: 0): steadier, slower",
    needs: "a processor with turbo whose driver shows the file",
    usage: KnobUse::ByName,
    price: ParameterCost::Speed,
    side_effects: "everything on the machine becomes slower",
    verify: "the file",
    peers: &["pyperf", "TuneD"],
    refused: &[(declare::EPERM, "the firmware has switched turbo off for good")],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let why = "how fast a core may run above its base depends on what its neighbours do";
    let one = |part, path, value| ValueFile {
        knob: &KNOB,
        part,
        path,
        value,
        why,
    };
    match set(scene, plan, &one("", INTEL, "1")) {
        Presence::Here => Presence::Here,
        Presence::Absent => set(scene, plan, &one("boost", OTHERS, "0")),
    }
}
