//! Tracing: recording an event takes time on the CPU where it happens.

use super::{Condition, ConditionInput, DetectedCondition, seen};

pub(super) const CONDITION: Condition = Condition {
    id: "tracing_on",
    words: "tracing is on",
    fix: "turn it off (`echo nop > current_tracer`, `echo 0 > events/enable` there), unless you want to measure it",
    detect,
};

fn detect(scene: &ConditionInput<'_>) -> Option<DetectedCondition> {
    let (place, what) = scene.fixed_settings.tracing.first()?;
    let more = match scene.fixed_settings.tracing.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    seen(
        place,
        format!("The kernel records {what}{more}: that takes time on every CPU."),
    )
}
