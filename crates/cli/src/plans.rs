//! Prints plans and changes, for `plan`, `apply` and `undo`.

use apply::{ChangeEntry, entries_summary, entries_text};
use plan::{Intent, Plan};
use report::KnobDetail;
use root::{Failure, Status};
use serde_json::json;
use terminal::Screen;

/// Shows one plan.
pub fn show_one(plan: &Plan, screen: &mut Screen) {
    screen.json(&report::plan_json(plan));
    screen.text(&report::plan_text(plan, screen.detail(), screen.style()));
}

/// Prints several plans.
pub fn show(plans: &[(Intent, Plan)], screen: &mut Screen) -> Result<(), Failure> {
    let mut documents = Vec::new();
    for (number, (_, plan)) in plans.iter().enumerate() {
        let document = serde_json::to_value(report::plan_json(plan));
        documents.push(document.map_err(|error| {
            Failure::new(
                Status::Bug,
                "a plan is no JSON",
                error.to_string(),
                "please report this as a bug",
            )
        })?);
        let gap = if number > 0 { "\n" } else { "" };
        screen.text(&format!(
            "{gap}{}",
            report::plan_text(plan, screen.detail(), screen.style())
        ));
    }
    match documents.as_slice() {
        [only] => screen.json(only),
        _ => screen.json(&json!({ "schema": "quietcore.plan/1", "plans": documents })),
    }
    Ok(())
}

/// The changes of `apply` and `undo`: counted by knob, or each of them.
pub fn entries(entries: &[ChangeEntry], screen: &Screen) -> String {
    match screen.detail() {
        KnobDetail::Short => entries_summary(entries),
        KnobDetail::Whole => entries_text(entries),
    }
}
