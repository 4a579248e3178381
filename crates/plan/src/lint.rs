//! Checks a boot line for words that contradict each other, are ignored by this kernel, or have a cost.
//!
//! A rule is one declaration with a stable id, a level, the explanation, the fix and a function that finds violations;
//! the list is [`RULES`]. A rule's level is its highest: a result that depends on an unknown fact is `info`.

mod clock;
mod cpu_list;
mod cpus;
mod empty;
mod facts;
mod form;
mod groups;
mod interrupts;
mod isolcpus;
mod kernel_messages;
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
mod tick;
mod torn;
mod workqueues;

pub use facts::{KernelFacts, ObservedBoot};
use line::{BootWord, KnownWord};
pub(crate) use line::{Isolcpus, LISTS, LintedLine, is_empty_list, parse_cpus};
pub use pasted::assigned;
pub use rules::RULES;

use crate::{Finding, FindingId, Level};
use repair::LineEdit;
use serde::Serialize;

/// One possible fault of a boot line.
pub struct LintRule {
    /// Stable identifier.
    pub id: &'static str,
    /// The highest level that it reports.
    pub level: Level,
    /// The explanation, and why it matters.
    pub truth: &'static str,
    /// What to do; empty if nothing has to be done.
    pub fix: &'static str,
    /// Finds violations.
    pub(crate) check: Check,
}

/// A rule: its id, level, truth, fix and check.
const fn rule(id: &'static str, level: Level, truth: &'static str, fix: &'static str, check: Check) -> LintRule {
    LintRule {
        id,
        level,
        truth,
        fix,
        check,
    }
}

/// Finds the violations of a rule in a line.
pub(crate) enum Check {
    /// Reports each of these parameters if it has one of these values; without values, any.
    Words(&'static [KnownWord]),
    /// The same, and drops it.
    Dropped(&'static [KnownWord]),
    /// One at most.
    One(fn(&LintedLine) -> Option<LintHit>),
    /// One at most, about the last occurrence of a parameter.
    Last(&'static str, WordCheck),
    /// Any number.
    Each(fn(&LintedLine) -> Vec<LintHit>),
    /// Words of the kernel's part.
    EachWord(WordCheck),
    /// Occurrences of `isolcpus=`, each with a hit about it.
    EachIsolcpus(fn(&LintedLine, &Isolcpus, LintHit) -> Option<LintHit>),
}

/// Judges a word of the line, with its index.
type WordCheck = fn(&LintedLine, usize, &BootWord) -> Option<LintHit>;

impl Check {
    fn hits(&self, line: &LintedLine) -> Vec<LintHit> {
        match self {
            Check::One(check) => check(line).into_iter().collect(),
            Check::Last(name, check) => {
                let last = line.last(name);
                let hit = last.and_then(|(place, word)| check(line, place, word));
                hit.into_iter().collect()
            }
            Check::Each(check) => check(line),
            Check::EachWord(check) => line
                .kernel()
                .filter_map(|(place, word)| check(line, place, word))
                .collect(),
            Check::EachIsolcpus(check) => line
                .isolcpus
                .iter()
                .filter_map(|one| check(line, one, isolcpus::hit(line, one)))
                .collect(),
            Check::Words(words) => line.found(words).map(|(_, word)| word.hit()).collect(),
            Check::Dropped(words) => line
                .found(words)
                .map(|(place, word)| word.hit().drop([place]))
                .collect(),
        }
    }
}

/// One place where a rule applies.
pub(crate) struct LintHit {
    subject: String,
    evidence: String,
    level: Option<Level>,
    edits: Vec<LineEdit>,
    fix: Option<String>,
}

impl LintHit {
    /// A hit about a word of the line, or a CPU list.
    pub fn on(subject: impl Into<String>) -> LintHit {
        LintHit {
            subject: subject.into(),
            evidence: String::new(),
            level: None,
            edits: Vec::new(),
            fix: None,
        }
    }

    /// Adds the evidence, which precedes the rule's explanation.
    pub fn because(mut self, evidence: impl Into<String>) -> LintHit {
        self.evidence = evidence.into();
        self
    }

    /// Sets a level other than the rule's own.
    pub fn at(mut self, level: Level) -> LintHit {
        self.level = Some(level);
        self
    }

    /// Sets a fix for this specific line.
    pub fn fix(mut self, fix: impl Into<String>) -> LintHit {
        self.fix = Some(fix.into());
        self
    }

    /// For information, because it depends on an option of a kernel whose configuration is unknown.
    pub fn unknown_option(self, option: &str) -> LintHit {
        self.at(Level::Info)
            .because(format!("it is unknown whether this kernel has {option}"))
            .fix("pass its configuration with --kernel-config FILE")
    }

    /// Adds an edit of the line that repairs it.
    pub fn edit(self, edit: LineEdit) -> LintHit {
        self.edits([edit])
    }

    /// Adds edits of the line that repair it.
    pub fn edits(mut self, edits: impl IntoIterator<Item = LineEdit>) -> LintHit {
        self.edits.extend(edits);
        self
    }

    /// Adds edits that remove words.
    pub fn drop(self, words: impl IntoIterator<Item = usize>) -> LintHit {
        self.edits(words.into_iter().map(LineEdit::Drop))
    }
}

/// The findings about a boot line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintResult {
    /// In the order of the rules.
    pub findings: Vec<Finding>,
    /// The line with every unambiguous repair made. It has no error that a word of the line can cause; problems that
    /// need another kernel or a reboot remain.
    pub suggested: String,
}

/// Maximum length in bytes; a longer line is not checked. No architecture's kernel keeps more than 4096 by default
/// (`COMMAND_LINE_SIZE`), and the work of some rules grows with the square of the number of words.
pub const MOST_BYTES: usize = 16 << 10;

/// Checks a line against the known facts of a kernel and its machine. If it exceeds [`MOST_BYTES`], only that is reported.
#[must_use]
pub fn lint(text: &str, facts: &KernelFacts) -> LintResult {
    let line = LintedLine::new(text, facts);
    if text.len() > MOST_BYTES {
        let rule = &form::LINE_TOO_LONG;
        return LintResult {
            findings: rule
                .check
                .hits(&line)
                .into_iter()
                .map(|hit| finding(rule, hit))
                .collect(),
            suggested: text.trim().to_owned(),
        };
    }
    let findings = hits(&line).map(|(rule, hit)| finding(rule, hit)).collect();
    LintResult {
        findings,
        suggested: repair::repaired(text, facts),
    }
}

/// As [`lint`], for an assumed kernel: what would be right on another kernel is a warning instead of an error.
#[must_use]
pub fn lint_assuming(text: &str, facts: &KernelFacts) -> LintResult {
    let mut verdict = lint(text, facts);
    let certain = lint(text, &facts.of_any_kernel()).findings;
    for finding in &mut verdict.findings {
        let holds = |one: &Finding| (&one.id, &one.subject, one.level) == (&finding.id, &finding.subject, Level::Error);
        if finding.level == Level::Error && !certain.iter().any(holds) {
            finding.level = Level::Warning;
        }
    }
    verdict
}

fn hits<'a>(line: &'a LintedLine) -> impl Iterator<Item = (&'static LintRule, LintHit)> + 'a {
    RULES
        .iter()
        .flat_map(|rule| rule.check.hits(line).into_iter().map(move |hit| (*rule, hit)))
}

fn finding(rule: &LintRule, hit: LintHit) -> Finding {
    let message = if hit.evidence.is_empty() {
        rule.truth.to_owned()
    } else {
        format!("{}: {}", hit.evidence, rule.truth)
    };
    let (level, id) = (hit.level.unwrap_or(rule.level), FindingId::of_rule(rule.id));
    Finding::new(level, id, hit.subject, message).fix(hit.fix.unwrap_or_else(|| rule.fix.to_owned()))
}
