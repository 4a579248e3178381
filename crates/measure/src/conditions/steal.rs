//! Time that the hypervisor took from a measured CPU.

use super::{Condition, ConditionInput, DetectedCondition, seen};
use machine::{CpuSet, Nanos};

pub(super) const CONDITION: Condition = Condition {
    id: "steal",
    words: "the hypervisor took time",
    fix: "reserve CPUs of the host for the guest, or measure on the host",
    detect,
};

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let taken = scene.threads.iter().filter(|thread| thread.steal_ns > Some(0));
    let cpus: CpuSet = taken.clone().map(|thread| thread.cpu).collect();
    let most = taken.filter_map(|thread| thread.steal_ns).max()?;
    let message = format!(
        "The hypervisor took up to {} from CPU {cpus} during the measurement, from /proc/stat.",
        Nanos(most)
    );
    seen(format!("cpus {cpus}"), message)
}
