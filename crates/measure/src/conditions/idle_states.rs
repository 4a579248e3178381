//! Idle states with a long exit latency, in a measurement of wake-up latency.

use super::{Condition, ConditionInput, DeepIdle, DetectedCondition, seen};
use crate::MeasurementKind;
use machine::CpuSet;

pub(super) const CONDITION: Condition = Condition {
    id: "deep_idle_states",
    words: "deep idle states allowed",
    fix: "leave out --idle leave, or run as root; or hold /dev/cpu_dma_latency open in your own program",
    detect,
};

/// Microseconds: a longer exit latency is visible in every wake-up (C1 takes 1 or 2).
const DEEP_US: u64 = 9;

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    if scene.idle == DeepIdle::PreventedByUs {
        return None;
    }
    let sleeping = scene.lanes.iter().filter(|lane| lane.kind == MeasurementKind::Latency);
    let sleeping: CpuSet = sleeping.map(|lane| lane.cpu).collect();
    let states = scene.fixed_settings.idle_states.iter();
    let deep = states
        .filter(|(cpu, _)| sleeping.contains(**cpu))
        .filter_map(|(cpu, states)| {
            let (name, latency) = states.iter().max_by_key(|(_, latency)| *latency)?;
            (*latency > DEEP_US).then_some((*cpu, name, *latency))
        });
    let cpus: CpuSet = deep.clone().map(|(cpu, _, _)| cpu).collect();
    let (_, name, latency) = deep.max_by_key(|(_, _, latency)| *latency)?;
    let message = format!("CPU {cpus} may enter {name}, which takes {latency} us to leave.");
    seen(format!("cpus {cpus}"), message)
}
