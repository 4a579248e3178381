//! Disables idle states of one CPU individually. The deeper the state, the longer the wake-up.

use super::value_file::{ValueFile, set};
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile};
use machine::CpuId;

pub(super) const KNOB: Knob = Knob {
    name: "cpuidle_disable",
    files: &["/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable"],
    reads: &["/sys/devices/system/cpu/cpuN/cpuidle/stateM/latency"],
    what: "forbids one idle state of one CPU",
    isolation: "1 for every state deeper than the first that halts: quick to wake, without burning power; `all` forbids \
                that one too, and an idle CPU then polls",
    needs: "a machine with idle states that the kernel chooses from; many virtual ones have none",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&["deep", "all"]),
    usual: "deep",
    price: ParameterCost::Power,
    stops: &["timer_broadcast"],
    side_effects: "an idle isolated CPU takes more power, and its neighbours get less turbo",
    verify: "the files; usage of the state beside them does not change",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

/// One idle state.
pub(super) struct IdleState {
    /// `state2`.
    pub name: String,
    /// Its `disable` file.
    pub path: String,
    /// Microseconds until the CPU is awake; 0 is polling.
    pub latency_us: u64,
}

/// The idle states of a CPU with a known latency, shallow ones first.
pub(super) fn idle_states(scene: &PlanContext, cpu: CpuId) -> Vec<IdleState> {
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
    states.sort_by_key(|state| state.latency_us);
    states
}

/// Latency of the shallowest available state that halts the CPU.
pub(super) fn first_halt_us(states: &[IdleState]) -> Option<u64> {
    states.iter().map(|state| state.latency_us).find(|latency| *latency > 0)
}

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for cpu in scene.isolated().iter() {
        let states = idle_states(scene, cpu);
        let Some(first) = first_halt_us(&states) else {
            continue;
        };
        presence = Presence::Here;
        let limit = match scene.value_of(&KNOB) {
            "all" => 0,
            _ => first,
        };
        for state in states.iter().filter(|state| state.latency_us > limit) {
            let file = ValueFile {
                knob: &KNOB,
                part: &format!("cpu{}/{}", cpu.0, state.name),
                path: &state.path,
                value: "1",
                why: &format!("coming back from this state takes {} us", state.latency_us),
            };
            set(scene, plan, &file);
        }
    }
    presence
}
