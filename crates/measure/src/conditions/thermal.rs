//! A processor that was throttled because of its temperature.

use super::{Condition, ConditionInput, DetectedCondition, seen};
use machine::CpuSet;

pub(super) const CONDITION: Condition = Condition {
    id: "thermal_throttling",
    words: "throttled because of heat",
    fix: "cool the machine, and measure again",
    detect,
};

/// The counters of [`crate::counts`] that show it.
const COUNTERS: &[&str] = &["core_throttle", "package_throttle"];

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let throttled = |thread: &&crate::ThreadResult| {
        let mut counts = thread.counts.iter();
        counts.any(|count| COUNTERS.contains(&count.name.as_str()) && count.count > Some(0))
    };
    let cpus: CpuSet = scene
        .threads
        .iter()
        .filter(throttled)
        .map(|thread| thread.cpu)
        .collect();
    if cpus.is_empty() {
        return None;
    }
    let message = format!("The processor throttled CPU {cpus} during the measurement because of heat.");
    seen(format!("cpus {cpus}"), message)
}
