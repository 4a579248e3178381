//! Prints plans, for `plan` and `apply --dry-run`.

use plan::{Intent, Plan};
use report::KnobDetail;
use root::{Failure, Status};
use serde_json::json;
use terminal::Screen;

/// Prints several plans.
pub fn show(plans: &[(Intent, Plan)], length: KnobDetail, screen: &mut Screen) -> Result<(), Failure> {
    let mut documents = Vec::new();
    for (number, (_, plan)) in plans.iter().enumerate() {
        let mut document = Vec::new();
        let written = report::plan_json(plan, &mut document).and_then(|()| Ok(serde_json::from_slice(&document)?));
        let value: serde_json::Value = written.map_err(|error| {
            Failure::new(
                Status::Bug,
                "a plan is no JSON",
                error.to_string(),
                "please report this as a bug",
            )
        })?;
        documents.push(value);
        let gap = if number > 0 { "\n" } else { "" };
        screen.text(&format!("{gap}{}", report::plan_text(plan, length, screen.style())));
    }
    match documents.as_slice() {
        [only] => screen.json(only),
        _ => screen.json(&json!({ "schema": "quietcore.plan/1", "plans": documents })),
    }
    Ok(())
}
