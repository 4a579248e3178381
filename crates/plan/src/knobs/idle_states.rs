//! Limits the idle states of single CPUs: the deeper the state, the longer the wake-up.

use super::knob_file::{KnobFile, files};
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::parameters::ParameterCost;
use crate::{Change, Plan, PlanContext, Profile};
use machine::CpuId;
use machine::OrderBy;

/// Disables idle states of one CPU individually. The deeper the state, the longer the wake-up.
pub(super) const CPUIDLE_DISABLE: Knob = Knob {
    name: "cpuidle_disable",
    files: &["/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable"],
    reads: &["/sys/devices/system/cpu/cpuN/cpuidle/stateM/latency"],
    what: "disables one idle state of one CPU",
    isolation: "1 for every state deeper than the first that halts: wakes fast without wasting power; `all` disables \
         that one too, and an idle CPU then polls",
    needs: "a machine with idle states that the kernel manages; many virtual machines have none",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&["deep", "all"]),
    usual: "deep",
    price: ParameterCost::Power,
    stops: &["timer_broadcast"],
    side_effects: "an idle isolated CPU uses more power, and its neighbours get less turbo",
    verify: "the files; the usage of the state, in the same directory, does not change",
    peers: &["TuneD"],
    plan: disable,
    ..Knob::PLAIN
};

/// Limits the wake-up time of one CPU (`drivers/base/power/sysfs.c`): idle states that take longer are not chosen.
///
/// In the file `0` means "no limit" and `n/a` means "no latency at all", which makes an idle CPU poll.
pub(super) const PM_QOS_RESUME_LATENCY_US: Knob = Knob {
    name: "pm_qos_resume_latency_us",
    files: &["/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us"],
    reads: &["/sys/devices/system/cpu/cpuN/cpuidle/stateM/latency"],
    what: "how long a CPU may take to wake up, in microseconds",
    why: "deeper idle states take longer to wake up from",
    isolation: "the wake-up time of its first halting state; n/a disables all idle states of this CPU, so that it \
         polls; 0 means no limit",
    needs: "a machine that reports the latency of its idle states, or an explicit value",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::NumberOr(0, 1_000_000, "n/a"),
    price: ParameterCost::Power,
    side_effects: "an idle isolated CPU uses more power",
    verify: "the file, and usage of the deeper states in /sys/devices/system/cpu/cpuN/cpuidle",
    peers: &["TuneD"],
    plan: limit_latency,
    ..Knob::PLAIN
};

/// One idle state.
struct IdleState {
    /// `state2`.
    name: String,
    /// Its `disable` file.
    path: String,
    /// Microseconds until the CPU is awake; 0 is polling.
    latency_us: u64,
}

/// The idle states of a CPU with a known latency, shallow ones first.
fn idle_states(scene: &PlanContext, cpu: CpuId) -> Vec<IdleState> {
    let begin = format!("/sys/devices/system/cpu/cpu{}/cpuidle/", cpu.0);
    let mut states: Vec<IdleState> = scene
        .settings
        .family(&begin, "/latency")
        .filter_map(|(name, _, latency)| {
            Some(IdleState {
                name: name.to_owned(),
                path: format!("{begin}{name}/disable"),
                latency_us: latency.parse().ok()?,
            })
        })
        .collect();
    states.order_by_key(|state| state.latency_us);
    states
}

/// Latency of the shallowest available state that halts the CPU.
fn first_halt_us(states: &[IdleState]) -> Option<u64> {
    states.iter().map(|state| state.latency_us).find(|latency| *latency > 0)
}

fn disable(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for cpu in scene.isolated().iter() {
        let states = idle_states(scene, cpu);
        let Some(first) = first_halt_us(&states) else {
            continue;
        };
        presence = Presence::Here;
        let limit = match scene.value_of(knob) {
            "all" => 0,
            _ => first,
        };
        for state in states.iter().filter(|state| state.latency_us > limit) {
            let part = format!("cpu{}/{}", cpu.0, state.name);
            let now = scene.settings.get(&state.path);
            plan.changes.extend(now.filter(|now| *now != "1").map(|now| Change {
                why: format!("waking up from this state takes {} us", state.latency_us),
                ..KnobFile::new(knob, part, &state.path).change(now, "1")
            }));
        }
    }
    presence
}

fn limit_latency(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for (cpu, file) in scene.isolated().iter().zip(files(knob, scene)) {
        let requested = scene.is_requested(knob);
        let value = match requested {
            true => Some(scene.value_of(knob).to_owned()),
            false => first_halt_us(&idle_states(scene, cpu)).map(|latency| latency.to_string()),
        };
        let Some(value) = value else { continue };
        let now = scene.settings.get(&file.path);
        presence = match now {
            Some(now) if !requested && is_tighter(now, &value) => Presence::Here,
            _ => presence.max(file.set(scene, plan, &value)),
        };
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
