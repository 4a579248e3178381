//! Judges a boot line: what in it contradicts itself, is ignored by this kernel, or has a price.
//!
//! A rule is one declaration with a stable id, a level, the truth, the fix and a function that finds it; the
//! list is [`RULES`]. A rule's level is the highest that it gives: what depends on an unknown fact is `info`.

mod clock;
mod cpu_list;
mod cpus;
mod empty;
mod facts;
mod form;
mod groups;
mod interrupts;
mod isolcpus;
mod line;
mod memory;
mod names;
mod occurrence;
mod pasted;
mod power;
mod rcu;
mod repair;
mod repeated;
mod rules;
mod safety;
mod said;
mod tick;
mod torn;
mod workqueues;

pub use facts::{Facts, Outcome};
pub(crate) use line::{Isolcpus, LISTS, Line, is_empty_list, parse_cpus};
pub use pasted::assigned;
pub use rules::RULES;

use crate::{Finding, Level};
use repair::Edit;
use serde::Serialize;

/// One thing that can be wrong with a boot line.
pub struct Rule {
    /// Stable identifier.
    pub id: &'static str,
    /// The highest level that it gives.
    pub level: Level,
    /// What is so, and why it matters.
    pub truth: &'static str,
    /// What to do; empty when nothing has to be done.
    pub fix: &'static str,
    /// Finds it.
    pub(crate) check: fn(&Line) -> Vec<Hit>,
}

/// One place where a rule applies.
pub(crate) struct Hit {
    subject: String,
    evidence: String,
    level: Option<Level>,
    edits: Vec<Edit>,
    fix: Option<String>,
}

impl Hit {
    /// About a word of the line, or a CPU list.
    pub fn on(subject: impl Into<String>) -> Hit {
        Hit {
            subject: subject.into(),
            evidence: String::new(),
            level: None,
            edits: Vec::new(),
            fix: None,
        }
    }

    /// What was seen, in front of the rule's truth.
    pub fn because(mut self, evidence: impl Into<String>) -> Hit {
        self.evidence = evidence.into();
        self
    }

    /// At another level than the rule's own.
    pub fn at(mut self, level: Level) -> Hit {
        self.level = Some(level);
        self
    }

    /// With a fix for this very line.
    pub fn fix(mut self, fix: impl Into<String>) -> Hit {
        self.fix = Some(fix.into());
        self
    }

    /// With an edit of the line that repairs it.
    pub fn edit(mut self, edit: Edit) -> Hit {
        self.edits.push(edit);
        self
    }

    /// With edits that take words out.
    pub fn drop(mut self, words: impl IntoIterator<Item = usize>) -> Hit {
        self.edits.extend(words.into_iter().map(Edit::Drop));
        self
    }
}

/// What is to be said about a boot line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// In the order of the rules.
    pub findings: Vec<Finding>,
    /// The line with everything repaired that has one clear repair. It has no error that a word of the line
    /// can cause; what only another kernel or a reboot can change stays.
    pub suggested: String,
}

/// A longer line is not judged, in bytes. The kernel of no architecture keeps more than 4096 by default (`COMMAND_LINE_SIZE`),
/// and the work of some rules grows with the square of the number of words.
pub const MOST_BYTES: usize = 16 << 10;

/// Judges a line against what is known about a kernel and its machine. Of one with more than [`MOST_BYTES`] only that is said.
#[must_use]
pub fn lint(text: &str, facts: &Facts) -> Verdict {
    let line = Line::new(text, facts);
    if text.len() > MOST_BYTES {
        let rule = &form::LINE_TOO_LONG;
        return Verdict {
            findings: (rule.check)(&line)
                .into_iter()
                .map(|hit| finding(rule, hit))
                .collect(),
            suggested: text.trim().to_owned(),
        };
    }
    let findings = hits(&line).map(|(rule, hit)| finding(rule, hit)).collect();
    Verdict {
        findings,
        suggested: repair::repaired(text, facts),
    }
}

/// As [`lint`], where the kernel of the facts is only assumed: what would be right on another kernel is no error, but a
/// warning.
#[must_use]
pub fn lint_assuming(text: &str, facts: &Facts) -> Verdict {
    let mut verdict = lint(text, facts);
    let certain = lint(text, &facts.of_any_kernel()).findings;
    for finding in &mut verdict.findings {
        let holds = |one: &Finding| {
            (&one.id, &one.subject, one.level) == (&finding.id, &finding.subject, Level::Error)
        };
        if finding.level == Level::Error && !certain.iter().any(holds) {
            finding.level = Level::Warning;
        }
    }
    verdict
}

/// The rule with an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

fn hits<'a>(line: &'a Line) -> impl Iterator<Item = (&'static Rule, Hit)> + 'a {
    RULES
        .iter()
        .flat_map(|rule| (rule.check)(line).into_iter().map(move |hit| (*rule, hit)))
}

fn finding(rule: &Rule, hit: Hit) -> Finding {
    let message = if hit.evidence.is_empty() {
        rule.truth.to_owned()
    } else {
        format!("{}: {}", hit.evidence, rule.truth)
    };
    Finding::of_rule(hit.level.unwrap_or(rule.level), rule.id, hit.subject, message)
        .fix(hit.fix.unwrap_or_else(|| rule.fix.to_owned()))
}
