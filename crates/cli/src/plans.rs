//! Prints plans and changes, for `plan`, `apply` and `undo`.

use apply::{ChangeEntry, entries_summary, entries_text};
use investigate::plan_effect;
use plan::{Intent, Plan};
use report::KnobDetail;
use root::Failure;
use serde::Serialize;
use serde_json::Value;
use session::Session;
use terminal::Screen;

/// Shows one plan, with the effect that a recent watch predicts.
pub fn show_one(session: &Session, (intent, plan): &(Intent, Plan), screen: &mut Screen) {
    let predicted = plan_effect(session, intent, plan);
    screen.json(&report::plan_json(plan, predicted.as_ref()));
    screen.report(
        &report::plan_verdict(plan),
        &report::plan_text(plan, predicted.as_ref(), screen.detail(), screen.style()),
    );
}

/// JSON of several plans.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PlansJson<'a> {
    /// The plans, each with its own `schema`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<report::schemas::PlanDocument<'static>>"))]
    plans: &'a [Value],
    schema: &'static str,
}

/// Prints several plans; those of partitions that are active as intended are empty.
pub fn show(
    session: &Session,
    plans: &[(Intent, Plan)],
    active: &[Intent],
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mut documents = Vec::new();
    for (number, (intent, plan)) in plans.iter().enumerate() {
        let (plan, predicted, text) = if active.contains(intent) {
            let (plan, text) = nothing_to_do(intent, plan);
            (plan, None, text)
        } else {
            let predicted = plan_effect(session, intent, plan);
            let text = report::plan_text(plan, predicted.as_ref(), screen.detail(), screen.style());
            (plan.clone(), predicted, text)
        };
        let document = serde_json::to_value(report::plan_json(&plan, predicted.as_ref()));
        let broken = |error: serde_json::Error| Failure::bug("a plan cannot be written as JSON", error.to_string());
        documents.push(document.map_err(broken)?);
        let gap = if number > 0 { "\n" } else { "" };
        screen.report(&report::plan_verdict(&plan), &format!("{gap}{text}"));
    }
    match documents.as_slice() {
        [only] => screen.json(only),
        plans => screen.json(&PlansJson {
            plans,
            schema: report::PLAN_SCHEMA,
        }),
    }
    Ok(())
}

/// The plan of a partition that is active as intended, and its text: `apply` writes nothing.
fn nothing_to_do(intent: &Intent, plan: &Plan) -> (Plan, String) {
    let nothing = Plan {
        changes: Vec::new(),
        findings: Vec::new(),
        ..plan.clone()
    };
    let text = format!(
        "Partition {} is active already on CPU {}: `apply` changes nothing.\nNext: `quietcore check` compares it with the machine.\n",
        intent.name, intent.cpus
    );
    (nothing, text)
}

/// The changes of `apply` and `undo`: counted by knob, or each of them.
pub fn entries(entries: &[ChangeEntry], screen: &Screen) -> String {
    match screen.detail() {
        KnobDetail::Short => entries_summary(entries),
        KnobDetail::Whole => entries_text(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuSet;
    use plan::{Finding, FindingId, PartitionName, Profile};

    #[test]
    fn nothing_is_planned_for_a_partition_that_is_active_as_intended() {
        let intent = Intent::new(PartitionName::default(), CpuSet::range(2, 3), Profile::Balanced);
        let plan = Plan {
            findings: vec![Finding::info(FindingId::NO_BALANCING, "2-3", "")],
            ..Plan::default()
        };
        let (now, text) = nothing_to_do(&intent, &plan);
        assert!(
            now.findings.is_empty() && text.starts_with("Partition rt is active already on CPU 2-3"),
            "{text}"
        );
    }
}
