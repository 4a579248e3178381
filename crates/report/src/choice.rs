//! Why just these CPUs: the rules that led to them, and the choices that lost.

use crate::style::{COLUMNS, Role, Style, safe, wrap};
use plan::Choice;
use std::fmt::Write as _;

/// The part of the plan's screen about the choice.
pub(crate) fn choice_text(choice: &Choice, style: Style) -> String {
    let mut text = String::new();
    let head = format!("Why CPU {}", choice.cpus);
    let _ = writeln!(text, "\n{}", style.paint(Role::Head, &wrap(&head, 0, COLUMNS)));
    for reason in &choice.reasons {
        let role = if reason.message.starts_with("could not be avoided") {
            Role::Care
        } else {
            Role::Good
        };
        let _ = writeln!(
            text,
            "  {} {}",
            style.paint(role, if role == Role::Care { "!" } else { "+" }),
            wrap(&safe(&reason.message), 4, COLUMNS)
        );
        let because = wrap(&format!("because {}", safe(&reason.because)), 6, COLUMNS);
        let _ = writeln!(text, "      {}", style.paint(Role::Quiet, &because));
    }
    if !choice.runners_up.is_empty() {
        let _ = writeln!(text, "{}", style.paint(Role::Head, "Runners-up"));
    }
    for other in &choice.runners_up {
        let line = format!("CPU {}: {}", other.cpus, safe(&other.because));
        let _ = writeln!(text, "  - {}", wrap(&line, 4, COLUMNS));
    }
    text
}
