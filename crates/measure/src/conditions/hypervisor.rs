//! A guest: the host may stop its CPUs at any time, and a result from an idle host does not apply to a busy one.

use super::{Condition, ConditionInput, DetectedCondition, seen};

pub(super) const CONDITION: Condition = Condition {
    id: "under_hypervisor",
    words: "runs under a hypervisor",
    fix: "measure on the host, or pin the guest's CPUs to isolated ones of the host",
    detect,
};

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let name = scene.environment.hypervisor.as_deref()?;
    seen(
        name,
        "The machine is a guest: its times include those of the host, at the host's present load.".to_owned(),
    )
}
