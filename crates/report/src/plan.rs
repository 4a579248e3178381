//! Formats `plan`: the planned changes, as a screen and as JSON. `apply --dry-run` prints the same.

mod changes;

use self::changes::{common_step, knob};
use crate::finding_blocks::{EvidencedFinding, finding_blocks};
use crate::prediction::plan_effect;
use crate::report_text::{KnobDetail, ReportText};
use crate::style::{COLUMNS, Style, TextRole, counted, safe, wrap};
use machine::OrderBy;
use plan::{Change, ChangeKind, Choice, Finding, KnobReason, KnobState, Level, Plan};
use predict::PlanEffect;
use serde::Serialize;

/// The schema of the document.
pub const PLAN_SCHEMA: &str = "quietcore.plan/1";

/// The JSON document `quietcore.plan/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanDocument<'a> {
    /// The schema.
    schema: &'static str,
    /// The plan.
    #[serde(flatten)]
    plan: &'a Plan,
    /// What a watch of these CPUs in the last 24 hours predicts; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<&'a PlanEffect>,
}

/// A document of a schema, with the fields of its content.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "{T}Document"))]
pub struct SchemaDocument<'a, T> {
    /// The schema.
    pub schema: &'static str,
    /// The content.
    #[serde(flatten)]
    pub content: &'a T,
}

/// The JSON document `quietcore.plan/1`.
#[must_use]
pub fn plan_json<'a>(plan: &'a Plan, predicted: Option<&'a PlanEffect>) -> impl Serialize + 'a {
    PlanDocument {
        schema: PLAN_SCHEMA,
        plan,
        predicted,
    }
}

/// The screen: what the plan does, its changes, their predicted effect, and what needs attention. The short form counts the
/// changes of each knob; the whole one gives each with before and after, reason and undo.
#[must_use]
pub fn plan_text(plan: &Plan, predicted: Option<&PlanEffect>, detail: KnobDetail, style: Style) -> String {
    let mut text = ReportText::new(style);
    let is_now = |change: &&Change| change.kind == ChangeKind::Runtime;
    let now = plan.changes.iter().filter(is_now).count();
    let head = format!("Partition {}: {}", safe(&plan.partition), promise(plan));
    text.wrapped_as(TextRole::Head, 0, 0, &head);
    let rest = format!("CPU {} runs everything else; {}", plan.housekeeping, usage_text(plan));
    text.wrapped(2, 4, &rest);
    let boot = match plan.changes.len() - now {
        0 => String::new(),
        boot => format!(", {boot} at the next boot"),
    };
    writeln!(text, "  {} now{boot}; nothing is changed yet", counted(now, "change"));
    match detail {
        KnobDetail::Short => summary(&mut text, plan),
        KnobDetail::Whole => every_change(&mut text, plan),
    }
    if let Some(line) = &plan.boot_line {
        text.heading("Kernel command line");
        let why = "the tick, RCU callbacks and managed interrupts can be moved only at boot; to do that too, add";
        text.wrapped(2, 2, why);
        writeln!(text, "    {}", safe(line));
    }
    if let Some(predicted) = predicted {
        plan_effect(&mut text, predicted);
    }
    attention(&mut text, &plan.findings, detail);
    if detail == KnobDetail::Short {
        writeln!(text);
        text.wrapped(0, 2, next(plan));
    }
    text.into_string()
}

/// What to type next.
fn next(plan: &Plan) -> &'static str {
    match plan.findings.iter().map(|finding| finding.level).max() {
        Some(Level::Error) => "Next: solve what needs attention; -v shows each change, its reason and its undo.",
        Some(Level::Warning) => {
            "Next: consider what needs attention, then `sudo quietcore apply` with the same options; -v shows each \
             change, its reason and its undo."
        }
        _ => "Next: `sudo quietcore apply` with the same options; -v shows each change, its reason and its undo.",
    }
}

/// A plan in one line.
#[must_use]
pub fn plan_verdict(plan: &Plan) -> String {
    let changes = counted(plan.changes.len(), "change");
    format!(
        "Partition {}: {}; {changes}; nothing is changed yet.\n",
        safe(&plan.partition),
        safe(&promise(plan))
    )
}

/// Why these CPUs were chosen, and one line for each knob with changes.
fn summary(text: &mut ReportText, plan: &Plan) {
    if let Some(choice) = &plan.choice {
        let reasons: Vec<String> = choice.reasons.iter().map(|reason| safe(&reason.message)).collect();
        text.wrapped(2, 4, &format!("Why CPU {}: {}", choice.cpus, reasons.join("; ")));
    }
    let groups = by_knob(plan);
    if !groups.is_empty() {
        text.heading("Changes");
    }
    for (name, changes) in groups {
        let title = safe(&name.replace('_', " "));
        let count = counted(changes.len(), "change");
        match common_step(&changes) {
            Some(step) => writeln!(text, "  {title:<29} {count:<11} {step}"),
            None => writeln!(text, "  {title:<29} {count}"),
        }
    }
}

/// Every change, and the selected knobs that need none.
fn every_change(text: &mut ReportText, plan: &Plan) {
    if let Some(choice) = &plan.choice {
        choice_text(text, choice);
    }
    for (name, changes) in by_knob(plan) {
        let by_name = plan
            .knobs
            .iter()
            .any(|knob| knob.name == name && knob.because == KnobReason::Name);
        let because = if by_name { ", requested" } else { "" };
        knob(text, (name, because), &changes);
    }
    nothing_to_do(text, plan);
}

/// Findings, the most severe first. The short form only counts the notes.
fn attention(text: &mut ReportText, findings: &[Finding], detail: KnobDetail) {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.order_by_key(|finding| std::cmp::Reverse(finding.level));
    let evidenced = |finding| EvidencedFinding { finding, evidence: &[] };
    let sorted: Vec<EvidencedFinding> = sorted.into_iter().map(evidenced).collect();
    let notes = findings.iter().filter(|finding| finding.level == Level::Info).count();
    let is_short = detail == KnobDetail::Short;
    if sorted.len() > if is_short { notes } else { 0 } {
        text.heading("Needs attention");
    }
    finding_blocks(text, &sorted, detail);
    if is_short && notes > 0 {
        writeln!(text, "\n{} (-v)", counted(notes, "note"));
    }
}

/// The owners of the isolated CPUs after the changes: one owner alone, or also others, which are named.
#[must_use]
pub fn promise(plan: &Plan) -> String {
    let cpus = &plan.isolated;
    match shared_owners(plan) {
        None => format!("CPU {cpus} for you alone"),
        Some(why) => format!("CPU {cpus} NOT for you alone: {why}"),
    }
}

/// Why several owners share the isolated CPUs after the changes: no partition, or cpusets of other owners that keep
/// them. `None` for a single owner.
#[must_use]
pub fn shared_owners(plan: &Plan) -> Option<String> {
    if has_no_partition(plan) {
        return Some("without a cpuset partition other tasks may run there".to_owned());
    }
    if plan.shared_with.is_empty() {
        return None;
    }
    let name =
        |set: &String| machine::cgroup_owners::cgroup_owner(set).map_or_else(|| set.clone(), |owner| owner.name());
    let mut names: Vec<String> = Vec::new();
    for name in plan.shared_with.iter().map(name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(NAMED);
    let count = plan.shared_with.len();
    let keep = if count == 1 { "keeps its" } else { "keep their" };
    Some(format!(
        "{} of other owners {keep} tasks there ({}{more})",
        counted(count, "cpuset"),
        safe(&names.join(", "))
    ))
}

/// Owners that a headline names; the rest is only counted.
const NAMED: usize = 3;

/// Whether the plan creates no partition, because the machine does not support it or the intent omits it.
fn has_no_partition(plan: &Plan) -> bool {
    let cannot = |finding: &Finding| matches!(finding.id.as_str(), "no-cpuset" | "cpuset-read-only" | "v2-does-harm");
    plan.without.iter().any(|knob| knob == "cpuset_partition") || plan.findings.iter().any(cannot)
}

/// Findings of `apply` with their fixes; empty text if there are none.
#[must_use]
pub fn findings_text(findings: &[Finding], detail: KnobDetail, style: Style) -> String {
    let mut text = ReportText::new(style);
    attention(&mut text, findings, detail);
    text.into_string()
}

/// Changes by knob, in the order of their first change. A change's id starts with the knob's name.
pub(crate) fn by_knob(plan: &Plan) -> Vec<(&str, Vec<&Change>)> {
    let mut groups: Vec<(&str, Vec<&Change>)> = Vec::new();
    for change in &plan.changes {
        let name = change.id.split('/').next().unwrap_or_default();
        match groups.last_mut() {
            Some((last, changes)) if *last == name => changes.push(change),
            _ => groups.push((name, vec![change])),
        }
    }
    groups
}

/// The profile, and the user's additions and omissions.
fn usage_text(plan: &Plan) -> String {
    let mut text = format!("profile {}", format!("{:?}", plan.profile).to_lowercase());
    let by_name = plan.knobs.iter().filter(|knob| knob.because == KnobReason::Name);
    let by_name: Vec<String> = by_name
        .map(|knob| match &knob.value {
            Some(value) => format!("{}={}", knob.name, safe(value)),
            None => knob.name.to_owned(),
        })
        .collect();
    if !by_name.is_empty() {
        text.push_str(&format!("; requested: {}", by_name.join(", ")));
    }
    if !plan.without.is_empty() {
        text.push_str(&format!("; left out: {}", plan.without.join(", ")));
    }
    text
}

/// Selected knobs that change nothing, so that users find them.
fn nothing_to_do(text: &mut ReportText, plan: &Plan) {
    let lists = [
        (KnobState::Already, "Already set"),
        (KnobState::Absent, "Not available on this machine"),
    ];
    for (state, title) in lists {
        let names: Vec<&str> = plan
            .knobs
            .iter()
            .filter(|knob| knob.state == state)
            .map(|knob| knob.name)
            .collect();
        if !names.is_empty() {
            text.heading(title);
            text.wrapped(2, 2, &names.join(", "));
        }
    }
}

/// The part of the plan's screen about the selection.
fn choice_text(text: &mut ReportText, choice: &Choice) {
    text.heading(&wrap(&format!("Why CPU {}", choice.cpus), 0, COLUMNS));
    for reason in &choice.reasons {
        let mark = match reason.message.starts_with("unavoidable") {
            true => ("!", TextRole::Warning),
            false => ("+", TextRole::Good),
        };
        text.marked(mark, 2, 4, &safe(&reason.message));
        let because = format!("reason: {}", safe(&reason.because));
        text.wrapped_as(TextRole::Quiet, 6, 6, &because);
    }
    if !choice.runners_up.is_empty() {
        text.painted(TextRole::Head, "Runners-up");
    }
    for other in &choice.runners_up {
        let line = format!("CPU {}: {}", other.cpus, safe(&other.because));
        writeln!(text, "  - {}", wrap(&line, 4, COLUMNS));
    }
}
