//! Limits the wake-up time of one CPU (`drivers/base/power/sysfs.c`): idle states that take longer are not chosen.
//!
//! In the file `0` means "no limit" and `n/a` means "no latency at all", which makes an idle CPU poll.

use super::cpuidle_disable::{first_halt_us, idle_states};
use super::value_file::{ValueFile, is_requested, set};
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile};
use machine::CpuId;

pub(super) const KNOB: Knob = Knob {
    name: "pm_qos_resume_latency_us",
    files: &["/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us"],
    reads: &["/sys/devices/system/cpu/cpuN/cpuidle/stateM/latency"],
    what: "how long a CPU may take to wake, in microseconds",
    isolation: "as long as its first halting state takes; n/a forbids all idle states of this one CPU, so that it polls; \
                0 means no limit",
    needs: "a machine with idle states that tell their latency, or a value by name",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::NumberOr(0, 1_000_000, "n/a"),
    price: ParameterCost::Power,
    side_effects: "an idle isolated CPU takes more power",
    verify: "the file, and usage of the deeper states in /sys/devices/system/cpu/cpuN/cpuidle",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for cpu in scene.isolated().iter() {
        let path = path(cpu);
        let requested = is_requested(scene, &KNOB);
        let value = match requested {
            true => Some(scene.value_of(&KNOB).to_owned()),
            false => first_halt_us(&idle_states(scene, cpu)).map(|latency| latency.to_string()),
        };
        let Some(value) = value else { continue };
        let now = scene.settings.get(&path);
        if !requested && now.is_some_and(|now| is_tighter(now, &value)) {
            presence = Presence::Here;
            continue;
        }
        let file = ValueFile {
            knob: &KNOB,
            part: &format!("cpu{}", cpu.0),
            path: &path,
            value: &value,
            why: "deeper idle states take longer to wake from",
        };
        presence = presence.max(set(scene, plan, &file));
    }
    presence
}

/// The file of a CPU.
#[must_use]
pub fn path(cpu: CpuId) -> String {
    format!("/sys/devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us", cpu.0)
}

/// Whether the current limit is already at least as strict.
#[must_use]
pub fn is_tighter(now: &str, intended: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok().filter(|limit| *limit > 0);
    now == "n/a" || matches!((number(now), number(intended)), (Some(now), Some(wanted)) if now <= wanted)
}
