//! A measured CPU that the scheduler uses for all tasks.

use super::{Condition, ConditionInput, DetectedCondition, seen};
use machine::CpuSet;

pub(super) const CONDITION: Condition = Condition {
    id: "cpu_not_isolated",
    words: "not isolated",
    fix: "isolate it first (`quietcore apply --cpus`), unless you want to measure an ordinary CPU",
    detect,
};

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let environment = scene.environment;
    let known = [&environment.boot_isolated, &environment.partitioned];
    if known.iter().all(|set| set.is_none()) {
        return None;
    }
    let isolated = CpuSet::union(known.into_iter().flatten());
    let shared = scene.cpus().minus(&isolated);
    if shared.is_empty() {
        return None;
    }
    let message = format!("CPU {shared} is not isolated: the scheduler places any task there.");
    seen(format!("cpus {shared}"), message)
}
