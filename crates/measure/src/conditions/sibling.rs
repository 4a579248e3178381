//! The sibling thread of a measured core: tasks there take execution units, cache and turbo frequency from it.

use super::{Condition, ConditionInput, DetectedCondition, seen};
use machine::{CpuId, CpuSet};

pub(super) const CONDITION: Condition = Condition {
    id: "sibling_busy",
    words: "the other thread of the core was busy",
    fix: "isolate whole cores (`--cpus core-of:N`), or keep the sibling idle or offline",
    detect,
};

/// Percent. Kernel activity on an idle CPU is lower.
const BUSY: f64 = 2.0;

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let mut busy: Vec<(CpuId, CpuId, f64)> = Vec::new();
    for (cpu, siblings) in &scene.fixed_settings.siblings {
        for sibling in siblings.iter() {
            if let Some(&load) = scene.loads.get(&sibling).filter(|load| **load > BUSY) {
                busy.push((*cpu, sibling, load));
            }
        }
    }
    let (cpu, sibling, load) = *busy.iter().max_by(|one, other| one.2.total_cmp(&other.2))?;
    let cpus: CpuSet = busy.iter().map(|(cpu, _, _)| *cpu).collect();
    let sibling_use = match scene.cpus().contains(sibling) {
        true => ", which was also measured",
        false => "",
    };
    let message = format!(
        "CPU {sibling} is on the same core as CPU {cpu}, and was busy for {load:.0} % of the time{sibling_use}."
    );
    seen(format!("cpus {cpus}"), message)
}
