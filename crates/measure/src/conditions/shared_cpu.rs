//! A measured CPU on which other tasks ran: our own load, or any task that may run there.

use super::{Condition, ConditionInput, DetectedCondition, seen};
use crate::MeasurementKind;
use machine::{CpuId, CpuSet};
use std::collections::BTreeMap;

pub(super) const CONDITION: Condition = Condition {
    id: "cpu_shared",
    words: "shared with other tasks",
    fix: "move loads and other tasks off the measured CPUs, unless you want to measure them",
    detect,
};

/// Percent of the window. Per-CPU kernel threads use less.
const SHARED: f64 = 2.0;

/// The limit where only the total load of the CPU is known, which includes our own wake-ups.
const SHARED_BY_LOAD: f64 = 20.0;

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let mut shared: BTreeMap<CpuId, f64> = BTreeMap::new();
    let spins = |cpu: CpuId| {
        let mut lanes = scene.lanes.iter();
        lanes.any(|lane| lane.kind == MeasurementKind::Noise && lane.cpu == cpu)
    };
    for (place, lane) in scene.lanes.iter().enumerate() {
        let percent = match lane.kind {
            MeasurementKind::Noise => waited(scene, place).filter(|percent| *percent > SHARED),
            // A CPU with a thread that never sleeps is always busy.
            _ if spins(lane.cpu) => None,
            _ => scene
                .loads
                .get(&lane.cpu)
                .copied()
                .filter(|load| *load > SHARED_BY_LOAD),
        };
        if let Some(percent) = percent {
            let most = shared.entry(lane.cpu).or_default();
            *most = most.max(percent);
        }
    }
    let cpus: CpuSet = shared.keys().copied().collect();
    let most = shared.into_values().max_by(f64::total_cmp)?;
    let message =
        format!("Other tasks ran on CPU {cpus} for up to {most:.0} % of the time, from scheduler statistics.");
    seen(format!("cpus {cpus}"), message)
}

/// How long a thread that never sleeps waited for its CPU, excluding our own wake-ups.
fn waited(scene: &ConditionInput<'_>, place: usize) -> Option<f64> {
    let thread = scene.threads.get(place)?;
    let waited = scene.waited_ns.get(place).copied().flatten()?;
    let own = thread.own_ns.unwrap_or(0);
    (thread.duration_ns > 0).then(|| waited.saturating_sub(own) as f64 * 100.0 / thread.duration_ns as f64)
}
