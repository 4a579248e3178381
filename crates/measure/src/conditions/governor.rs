//! A CPU frequency that follows the load: the CPU is slow when a thread wakes up.

use super::{Condition, ConditionInput, DetectedCondition, seen};
use machine::CpuSet;
use std::collections::BTreeSet;

pub(super) const CONDITION: Condition = Condition {
    id: "governor_not_performance",
    words: "the frequency may change",
    fix: "`quietcore apply --with scaling_governor` sets the governor performance, and `undo` restores it",
    detect,
};

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let wrong = scene
        .fixed_settings
        .governors
        .iter()
        .filter(|(_, governor)| *governor != "performance");
    let cpus: CpuSet = wrong.clone().map(|(cpu, _)| *cpu).collect();
    let names: BTreeSet<&str> = wrong.map(|(_, governor)| governor.as_str()).collect();
    if cpus.is_empty() {
        return None;
    }
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let message = format!("The frequency governor of CPU {cpus} is {names}, not performance.");
    seen(format!("cpus {cpus}"), message)
}
