//! A kernel with debug checks: its code paths take several times as long as those of a production kernel.

use super::{Condition, ConditionInput, DetectedCondition, seen};

pub(super) const CONDITION: Condition = Condition {
    id: "debug_kernel",
    words: "a debug kernel",
    fix: "measure with the kernel that you will use",
    detect,
};

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let mut options = scene.environment.debug_options.clone().unwrap_or_default();
    if options.is_empty() && scene.fixed_settings.lockdep {
        options.push("CONFIG_LOCKDEP".to_owned());
    }
    if options.is_empty() {
        return None;
    }
    let subject = scene.environment.release.as_deref().unwrap_or("kernel");
    seen(
        subject,
        format!(
            "The kernel has debug checks ({}), which make it slow.",
            options.join(", ")
        ),
    )
}
