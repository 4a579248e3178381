//! Formats `plan`: the planned changes, as a screen and as JSON. `apply --dry-run` prints the same.

mod changes;

use self::changes::{Title, knob};
use crate::style::{COLUMNS, Style, TextRole, counted, safe, wrap};
use plan::{Change, ChangeKind, Choice, Finding, KnobReason, KnobState, Level, Plan};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The schema of the document.
pub const PLAN_SCHEMA: &str = "quietcore.plan/1";

#[derive(Serialize)]
struct PlanDocument<'a> {
    schema: &'static str,
    #[serde(flatten)]
    plan: &'a Plan,
}

/// Writes the JSON document `quietcore.plan/1`.
///
/// # Errors
/// Errors of `out`.
pub fn plan_json(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(
        &mut *out,
        &PlanDocument {
            schema: PLAN_SCHEMA,
            plan,
        },
    )?;
    out.write_all(b"\n")
}

/// Changes of one knob that are printed; the rest is only counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnobDetail {
    /// The first of many similar ones.
    #[default]
    Short,
    /// All of them.
    Whole,
}

/// The screen: the purpose of each knob, each change with before and after, the reason, and how it is undone.
#[must_use]
pub fn plan_text(plan: &Plan, length: KnobDetail, style: Style) -> String {
    let mut text = String::new();
    let now = plan
        .changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Runtime)
        .count();
    let boot = plan.changes.len() - now;
    let head = format!("Partition `{}`: {}", safe(&plan.partition), promise(plan));
    let _ = writeln!(text, "{}", style.paint(TextRole::Head, &wrap(&head, 0, COLUMNS)));
    let keep = format!("CPU {} keeps everything else", plan.housekeeping);
    let _ = writeln!(text, "{}", wrap(&keep, 0, COLUMNS));
    let boot = if boot > 0 {
        format!(", {boot} at the next boot")
    } else {
        String::new()
    };
    let _ = writeln!(text, "{} now{boot}; nothing has been done yet", counted(now, "change"));
    let _ = writeln!(text, "{}", wrap(&usage_text(plan), 2, COLUMNS));
    text.push_str(
        &plan
            .choice
            .as_ref()
            .map_or_else(String::new, |choice| choice_text(choice, style)),
    );
    for (name, changes) in by_knob(plan) {
        let by_name = plan
            .knobs
            .iter()
            .any(|knob| knob.name == name && knob.because == KnobReason::Name);
        let because = if by_name { ", by name" } else { "" };
        let title = Title { name, because };
        knob(&mut text, &title, &changes, length, style);
    }
    if length == KnobDetail::Whole {
        text.push_str(&nothing_to_do(plan, style));
    }
    if let Some(line) = &plan.boot_line {
        let _ = writeln!(text, "\n{}", style.paint(TextRole::Head, "Boot line"));
        let why = "the tick, RCU callbacks and managed interrupts can be moved only at boot; to have that too, add";
        let _ = writeln!(text, "  {}", wrap(why, 2, COLUMNS));
        let _ = writeln!(text, "    {}", safe(line));
    }
    text.push_str(&findings_text(&plan.findings, style));
    text
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
    let cannot = |finding: &Finding| matches!(finding.id.as_str(), "no-cpuset" | "cpuset-read-only");
    plan.without.iter().any(|knob| knob == "cpuset_partition") || plan.findings.iter().any(cannot)
}

/// Findings with their fixes; empty text if there are none.
#[must_use]
pub fn findings_text(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    if findings.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n{}", style.paint(TextRole::Head, "Good to know"));
    let mut findings: Vec<&Finding> = findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    for finding in findings {
        let (name, role) = match finding.level {
            Level::Error => ("error", TextRole::Bad),
            Level::Warning => ("warning", TextRole::Warning),
            Level::Info => ("info", TextRole::Quiet),
        };
        let message = wrap(
            &format!("{}: {}", safe(&finding.subject), safe(&finding.message)),
            11,
            COLUMNS,
        );
        let _ = writeln!(
            text,
            "  {}{:gap$}{message}",
            style.paint(role, name),
            "",
            gap = 9 - name.len()
        );
        if !finding.fix.is_empty() {
            let _ = writeln!(
                text,
                "           {}",
                wrap(&format!("-> {}", safe(&finding.fix)), 14, COLUMNS)
            );
        }
    }
    text
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
        text.push_str(&format!("; by name: {}", by_name.join(", ")));
    }
    if !plan.without.is_empty() {
        text.push_str(&format!("; left out: {}", plan.without.join(", ")));
    }
    text
}

/// Selected knobs that change nothing, so that users find them.
fn nothing_to_do(plan: &Plan, style: Style) -> String {
    let mut text = String::new();
    let lists = [
        (KnobState::Already, "As it should be already"),
        (KnobState::Absent, "Not on this machine"),
    ];
    for (state, title) in lists {
        let names: Vec<&str> = plan
            .knobs
            .iter()
            .filter(|knob| knob.state == state)
            .map(|knob| knob.name)
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "\n{}", style.paint(TextRole::Head, title));
            let _ = writeln!(text, "  {}", wrap(&names.join(", "), 2, COLUMNS));
        }
    }
    text
}

/// The part of the plan's screen about the selection.
fn choice_text(choice: &Choice, style: Style) -> String {
    let mut text = String::new();
    let head = format!("Why CPU {}", choice.cpus);
    let _ = writeln!(text, "\n{}", style.paint(TextRole::Head, &wrap(&head, 0, COLUMNS)));
    for reason in &choice.reasons {
        let role = if reason.message.starts_with("could not be avoided") {
            TextRole::Warning
        } else {
            TextRole::Good
        };
        let _ = writeln!(
            text,
            "  {} {}",
            style.paint(role, if role == TextRole::Warning { "!" } else { "+" }),
            wrap(&safe(&reason.message), 4, COLUMNS)
        );
        let because = wrap(&format!("because {}", safe(&reason.because)), 6, COLUMNS);
        let _ = writeln!(text, "      {}", style.paint(TextRole::Quiet, &because));
    }
    if !choice.runners_up.is_empty() {
        let _ = writeln!(text, "{}", style.paint(TextRole::Head, "Runners-up"));
    }
    for other in &choice.runners_up {
        let line = format!("CPU {}: {}", other.cpus, safe(&other.because));
        let _ = writeln!(text, "  - {}", wrap(&line, 4, COLUMNS));
    }
    text
}
