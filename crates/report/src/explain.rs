//! Implements `explain`: the meaning of a word, from the tables that the rest of the product uses, and the errors in a boot
//! line.

mod errors;
mod glossary;
mod interrupts;
mod line;
mod surroundings;
mod tables;
mod threads;

pub use glossary::{GlossaryTerm, glossary};
pub use line::{LintReport, lint_text, lint_verdict};
pub use surroundings::Surroundings;
pub use tables::{UnknownWord, contents_text, explain, word_groups, words};

use crate::report_text::ReportText;
use crate::style::{COLUMNS, Style, TextRole, safe, wrap};
use serde::Serialize;

/// The schema of both documents.
pub const EXPLAIN_SCHEMA: &str = "quietcore.explain/1";

/// The meaning of a word. A word may have several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// `term`, `knob`, `setting`, `kernel thread`, `counter`, `interruption class`, `boot parameter`, `finding`,
    /// `interrupt`, `error number`, `system call`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What it is.
    pub what: String,
    /// Everything else, in order.
    pub parts: Vec<ExplanationPart>,
}

/// A labelled sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplanationPart {
    /// Its subject.
    pub label: &'static str,
    /// The sentence.
    pub text: String,
}

impl Explanation {
    pub(super) fn new(kind: &'static str, name: impl Into<String>, what: impl Into<String>) -> Explanation {
        Explanation {
            kind,
            name: name.into(),
            what: what.into(),
            parts: Vec::new(),
        }
    }

    /// Adds a part unless its text is empty.
    pub(super) fn part(mut self, label: &'static str, text: impl Into<String>) -> Explanation {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push(ExplanationPart { label, text });
        }
        self
    }
}

/// Formats these entries for a terminal.
#[must_use]
pub fn explain_text(entries: &[Explanation], style: Style) -> String {
    let mut text = ReportText::new(style);
    for (place, entry) in entries.iter().enumerate() {
        if place > 0 {
            writeln!(text);
        }
        let name = style.paint(TextRole::Head, &safe(&entry.name));
        writeln!(text, "{name}  {}", style.paint(TextRole::Quiet, entry.kind));
        text.wrapped(2, 2, &safe(&entry.what));
        let width = entry.parts.iter().map(|part| part.label.len()).max().unwrap_or(0);
        for part in &entry.parts {
            let label = style.paint(TextRole::Quiet, &format!("{:width$}", part.label));
            writeln!(text, "  {label}  {}", wrap(&safe(&part.text), width + 4, COLUMNS));
        }
    }
    text.into_string()
}

/// Formats text of a table as a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    // Kernel names keep their spelling.
    let word = text.split([' ', ',', ':']).next().unwrap_or_default();
    if word.contains(['_', '=', '.', '/']) || word.chars().skip(1).any(char::is_uppercase) {
        return format!("{text}{end}");
    }
    format!("{first}{}{end}", letters.as_str())
}
