//! Tracing: recording an event takes time on the CPU where it happens.

use super::{Condition, Scene, Seen, seen};

pub(super) const CONDITION: Condition = Condition {
    id: "tracing_on",
    words: "tracing is on",
    fix: "turn it off (`echo nop > current_tracer`, `echo 0 > events/enable` there), unless it is the question",
    look,
};

fn look(scene: &Scene<'_>) -> Option<Seen> {
    let (place, what) = scene.standing.tracing.first()?;
    let more = match scene.standing.tracing.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    seen(
        place,
        format!("The kernel records {what}{more}: that takes time on every CPU."),
    )
}
