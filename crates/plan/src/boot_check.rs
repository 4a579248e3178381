//! After the reboot: of each parameter of a boot line, whether it reached the kernel, was understood, and works.
//!
//! Every answer carries what it was seen by. A family of parameters is one file here and one line of [`FAMILIES`];
//! what the rules of [`crate::lint`] have against a line is taken from there and not said a second time.

mod agreement;
mod case;
mod evidence;
mod family;
mod irqaffinity;
mod isolcpus;
mod nohz_full;
mod rcu_nocbs;
mod reached;
mod shown;
mod told;
mod understood;
mod workqueue;

pub use agreement::Agreement;
pub use evidence::{Busy, CountedCpu, Declared, Evidence, InForce, OurWords, Stage, Window};
pub use shown::paths;
pub use told::told_of_boot_part;

use crate::Finding;
use crate::lint::{Line, lint};
use case::Case;
use family::{FAMILIES, family};
use machine::{CpuSet, Parameter};
use serde::Serialize;

/// What is known about one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// Seen to be so.
    Yes,
    /// Seen not to be so.
    No,
    /// It could be seen, but not here and now.
    Unknown,
    /// Kernels show it nowhere.
    Unseen,
}

/// The answer to one question, with what it was seen by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The answer.
    pub truth: Truth,
    /// What was seen, or why nothing was.
    pub because: String,
}

impl Answer {
    pub(crate) fn new(truth: Truth, because: impl Into<String>) -> Answer {
        Answer {
            truth,
            because: because.into(),
        }
    }

    pub(crate) fn yes(because: impl Into<String>) -> Answer {
        Answer::new(Truth::Yes, because)
    }

    pub(crate) fn no(because: impl Into<String>) -> Answer {
        Answer::new(Truth::No, because)
    }

    pub(crate) fn unknown(because: impl Into<String>) -> Answer {
        Answer::new(Truth::Unknown, because)
    }
}

/// What became of a parameter, or of all of them; the worst is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is in force, as far as anybody can see.
    Works,
    /// Something that could be seen was not.
    Unknown,
    /// It waits for the next boot.
    Pending,
    /// The machine was booted since it was written, without it.
    Reverted,
    /// It does not do what it asks for.
    Broken,
}

/// One parameter of the boot line, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// As it is written.
    pub word: String,
    /// How far it has come, where quietcore wrote it.
    pub ours: Option<Stage>,
    /// Whether the kernel got it.
    pub reached: Answer,
    /// Whether the kernel took it.
    pub understood: Answer,
    /// Whether its effect is there.
    pub works: Answer,
    /// All of it.
    pub outcome: Outcome,
}

/// What became of the whole boot line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootVerdict {
    /// The worst of all; `None` where there is no parameter to ask about.
    pub outcome: Option<Outcome>,
    /// Ours first, then the others on the running line.
    pub parameters: Vec<Checked>,
    /// Whether the machine is as declared, at run time and on the boot line; empty where nothing ties the two.
    pub declared: Vec<Agreement>,
}

/// Asks about every parameter of ours, and every one that isolates on the running line.
#[must_use]
pub fn boot_check(evidence: &Evidence) -> BootVerdict {
    let text = evidence.line();
    let line = Line::new(text, evidence.facts);
    let findings = lint(text, evidence.facts).findings;
    let parameters: Vec<Checked> = asked(evidence, &line, &findings)
        .into_iter()
        .map(|(word, stage)| check(word, stage, evidence, &line, &findings))
        .collect();
    let declared = agreement::agreement(evidence);
    let outcomes = parameters.iter().map(|one| one.outcome);
    let outcome = outcomes.chain(declared.iter().map(Agreement::outcome)).max();
    BootVerdict {
        outcome,
        parameters,
        declared,
    }
}

/// The CPUs that the running line and our own words ask to isolate in any way: those on which something is to be counted.
#[must_use]
pub fn asked_cpus(text: &str, facts: &crate::lint::Facts) -> CpuSet {
    Line::new(text, facts).isolated()
}

/// Findings about words that stand for a parameter and are none.
const NO_PARAMETER: &[&str] = &["misspelled-parameter", "foreign-parameter", "sysctl-as-parameter"];

/// Every word that is asked about, once.
fn asked(evidence: &Evidence, line: &Line, findings: &[Finding]) -> Vec<(String, Option<Stage>)> {
    let mut all: Vec<(String, Option<Stage>)> = Vec::new();
    for ours in &evidence.ours {
        for word in &ours.words {
            if all.iter().all(|(known, _)| known != word) {
                all.push((word.clone(), Some(ours.stage)));
            }
        }
    }
    let misspelled = |raw: &str| {
        let mut found = findings.iter();
        found.any(|one| NO_PARAMETER.contains(&one.id.as_str()) && one.subject == raw)
    };
    for word in &line.words {
        let isolates = family(word.name()).is_some() || misspelled(word.raw);
        if isolates && all.iter().all(|(known, _)| known != word.raw) {
            all.push((word.raw.to_owned(), None));
        }
    }
    all
}

fn check(
    word: String,
    stage: Option<Stage>,
    evidence: &Evidence,
    line: &Line,
    findings: &[Finding],
) -> Checked {
    let parameter = Parameter::parse(&word);
    let case = Case {
        raw: &word,
        row: crate::parameters::parameter(&parameter.name),
        family: family(&parameter.name),
        parameter: &parameter,
        evidence,
        line,
        findings,
    };
    let (reached, missing) = reached::reached(&case, stage);
    let (understood, works) = match reached.truth {
        Truth::Yes => {
            let understood = understood::understood(&case);
            let works = match understood.truth {
                Truth::No => Answer::no("the kernel did not take it"),
                _ => case.works(),
            };
            (understood, works)
        }
        Truth::No => (
            Answer::unknown("the kernel never saw it"),
            Answer::no("the kernel never saw it"),
        ),
        Truth::Unknown | Truth::Unseen => {
            let why = "whether it reached the kernel is not known";
            (Answer::unknown(why), Answer::unknown(why))
        }
    };
    let truths = [reached.truth, understood.truth, works.truth];
    let outcome = match missing {
        Some(missing) => missing,
        None if truths.contains(&Truth::No) => Outcome::Broken,
        None if truths.contains(&Truth::Unknown) => Outcome::Unknown,
        None => Outcome::Works,
    };
    Checked {
        ours: stage,
        reached,
        understood,
        works,
        outcome,
        word,
    }
}

/// Names that are asked about on any line.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.names.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_parameter_that_explain_knows_and_has_one_family() {
        let mut seen = std::collections::BTreeSet::new();
        for name in names() {
            assert!(crate::parameters::parameter(name).is_some(), "{name}");
            assert!(seen.insert(name), "{name} has two families");
        }
    }
}
