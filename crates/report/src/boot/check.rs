//! Formats `boot check`: for each parameter, whether it reached the kernel, was understood, and works.

use crate::style::{COLUMNS, wrap};
use plan::boot_check::{Agreement, BootVerdict, CheckAnswer, ParameterCheck, ParameterOutcome, Truth};
use serde::Serialize;

/// What `boot check` reports.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootCheckJson<'a> {
    /// `quietcore.boot/1`.
    pub schema: &'static str,
    /// The command below `boot`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["check"])))]
    pub verb: &'static str,
    /// Whether the machine is the running one or a captured one.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["live", "captured"])))]
    pub origin: &'static str,
    /// The running boot line.
    pub running: &'a str,
    /// The worst outcome of a parameter; `nothing` if there is no parameter to check.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["nothing", "works", "unknown", "pending", "reverted", "broken"])))]
    pub verdict: &'static str,
    /// The parameters: those of quietcore first.
    pub parameters: &'a [ParameterCheck],
    /// Whether the boot line matches each declaration.
    pub declared: &'a [Agreement],
    /// Files that could not be read, one line each.
    pub unread: &'a [String],
    /// Other sources of words on the line.
    pub notes: &'a [String],
}

/// The worst outcome in one word; `nothing` if no parameter was checked.
#[must_use]
pub fn boot_outcome(outcome: Option<ParameterOutcome>) -> &'static str {
    match outcome {
        None => "nothing",
        Some(ParameterOutcome::Works) => "works",
        Some(ParameterOutcome::Unknown) => "unknown",
        Some(ParameterOutcome::Pending) => "pending",
        Some(ParameterOutcome::Reverted) => "reverted",
        Some(ParameterOutcome::Broken) => "broken",
    }
}

/// The verdict in one line.
#[must_use]
pub fn boot_check_verdict(verdict: &BootVerdict) -> String {
    let text = match verdict.outcome {
        None => "No parameter on the running line isolates anything, and quietcore wrote none.",
        Some(ParameterOutcome::Works) if verdict.declared.is_empty() => {
            "Every parameter reached the kernel, was understood, and works as far as the kernel shows it."
        }
        Some(ParameterOutcome::Works) => {
            "Every parameter reached the kernel, was understood, and works as far as the kernel shows it; the declared \
             partitions are active."
        }
        Some(ParameterOutcome::Unknown) => "No problem was found, but not everything could be checked.",
        Some(ParameterOutcome::Pending) => "The next boot will have it: restart the machine, then check again.",
        Some(ParameterOutcome::Reverted) => "This boot does not have the written boot line.",
        Some(ParameterOutcome::Broken) => "Not all parameters work.",
    };
    format!("{text}\n")
}

/// The same for people, the verdict first. Words of the line are not escaped.
#[must_use]
pub fn boot_check_text(verdict: &BootVerdict, running: &str, unread: &[String]) -> String {
    let mut text = format!("{}\nrunning: {running}\n", boot_check_verdict(verdict));
    for one in &verdict.parameters {
        let ours = if one.ours.is_some() { " (from quietcore)" } else { "" };
        text.push_str(&format!("{}{ours}: {}\n", one.word, boot_outcome(Some(one.outcome))));
        row(&mut text, "reached", &one.reached);
        row(&mut text, "understood", &one.understood);
        row(&mut text, "works", &one.works);
    }
    for one in &verdict.declared {
        let name = one
            .partition
            .as_ref()
            .map_or_else(|| "no partition".to_owned(), |name| format!("partition {name}"));
        text.push_str(&format!("/etc/quietcore.toml, {name}\n"));
        row(&mut text, "boot line", &one.answer);
        if let Some(answer) = &one.run_time {
            row(&mut text, "run time", answer);
        }
    }
    for line in unread {
        text.push_str(&format!("not read: {line}\n"));
    }
    text
}

fn row(text: &mut String, question: &str, answer: &CheckAnswer) {
    let truth = match answer.truth {
        Truth::Yes => "yes",
        Truth::No => "NO",
        Truth::Unknown => "unknown",
        Truth::Unseen => "unseen",
    };
    let because = wrap(&answer.because, 21, COLUMNS);
    text.push_str(&format!("  {question:<11}{truth:<8}{because}\n"));
}
