//! Checks after a reboot whether each parameter of a boot line reached the kernel, was accepted, and works.
//!
//! Every answer names its evidence. Each family of parameters has one file here and one entry in [`FAMILIES`]. The
//! objections of the rules in [`crate::lint`] are taken from there, not repeated.

mod acceptance;
mod agreement;
mod boot_part_findings;
mod case;
mod evidence;
mod file_evidence;
mod irqaffinity;
mod isolcpus;
mod nohz_full;
mod rcu_nocbs;
mod reached;
mod workqueue;

pub use agreement::Agreement;
pub use boot_part_findings::boot_part_findings;
pub use evidence::{
    BootEvidence, CountWindow, CpuCounts, CpuOccupant, DeclaredPartition, OwnBootWords, PartitionDrift, UnknownCpus,
};
pub use file_evidence::paths;

use crate::Finding;
use crate::lint::{LintedLine, lint};
use case::{ParameterCase, ParameterFamily};
use machine::cmdline::BootWordStage;
use machine::{CpuSet, Parameter, same_name};
use serde::Serialize;

/// Every family.
const FAMILIES: &[&ParameterFamily] = &[
    &isolcpus::FAMILY,
    &nohz_full::FAMILY,
    &rcu_nocbs::LIST,
    &rcu_nocbs::POLL,
    &irqaffinity::FAMILY,
    &workqueue::FAMILY,
    &file_evidence::FAMILY,
];

/// The family of a parameter.
fn family(name: &str) -> Option<&'static ParameterFamily> {
    let mut all = FAMILIES.iter().copied();
    all.find(|family| family.names.iter().any(|own| same_name(own, name)))
}

/// The answer to one question, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// Observed to be true.
    Yes,
    /// Observed to be false.
    No,
    /// Observable in principle, but not here and now.
    Unknown,
    /// No kernel exposes it.
    Unseen,
}

/// The answer to one question, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckAnswer {
    /// The answer.
    pub truth: Truth,
    /// The evidence, or why there is none.
    pub because: String,
}

impl CheckAnswer {
    pub(crate) fn new(truth: Truth, because: impl Into<String>) -> CheckAnswer {
        CheckAnswer {
            truth,
            because: because.into(),
        }
    }

    pub(crate) fn yes(because: impl Into<String>) -> CheckAnswer {
        CheckAnswer::new(Truth::Yes, because)
    }

    pub(crate) fn no(because: impl Into<String>) -> CheckAnswer {
        CheckAnswer::new(Truth::No, because)
    }

    /// Nothing shows it.
    pub(crate) fn unseen(because: impl Into<String>) -> CheckAnswer {
        CheckAnswer::new(Truth::Unseen, because)
    }

    pub(crate) fn unknown(because: impl Into<String>) -> CheckAnswer {
        CheckAnswer::new(Truth::Unknown, because)
    }
}

/// The result for one parameter, or for all of them, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ParameterOutcome {
    /// It works, as far as this can be observed.
    Works,
    /// Something observable could not be checked.
    Unknown,
    /// It waits for the next boot.
    Pending,
    /// The machine was rebooted since the parameter was written, and booted without it.
    Reverted,
    /// It does not have the requested effect.
    Broken,
}

/// One parameter of the boot line and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ParameterCheck {
    /// As it is written.
    pub word: String,
    /// The stage it has reached, if quietcore wrote it.
    pub ours: Option<BootWordStage>,
    /// Whether the parameter reached the kernel.
    pub reached: CheckAnswer,
    /// Whether the kernel accepted it.
    pub understood: CheckAnswer,
    /// Whether its effect is present.
    pub works: CheckAnswer,
    /// The three answers combined.
    pub outcome: ParameterOutcome,
}

/// The result for the whole boot line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootVerdict {
    /// The worst result; `None` if there is no parameter to check.
    pub outcome: Option<ParameterOutcome>,
    /// Our parameters first, then the others on the running line.
    pub parameters: Vec<ParameterCheck>,
    /// Whether the machine matches its declaration, at run time and on the boot line; empty if no declaration links the two.
    pub declared: Vec<Agreement>,
}

/// Checks each of our parameters and each isolating parameter on the running line.
#[must_use]
pub fn boot_check(evidence: &BootEvidence) -> BootVerdict {
    let text = evidence.line();
    let line = LintedLine::new(text, evidence.facts);
    let findings = lint(text, evidence.facts).findings;
    let parameters: Vec<ParameterCheck> = words_to_check(evidence, &line, &findings)
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

/// The CPUs that the running line and our own parameters isolate in any way: the CPUs whose interruptions are worth counting.
#[must_use]
pub fn requested_cpus(text: &str, facts: &crate::lint::KernelFacts) -> CpuSet {
    LintedLine::new(text, facts).isolated()
}

/// Findings about words that look like a parameter but are not one.
const NO_PARAMETER: &[&str] = &["misspelled-parameter", "foreign-parameter", "sysctl-as-parameter"];

/// Every word to check, once.
fn words_to_check(
    evidence: &BootEvidence,
    line: &LintedLine,
    findings: &[Finding],
) -> Vec<(String, Option<BootWordStage>)> {
    let mut all: Vec<(String, Option<BootWordStage>)> = Vec::new();
    for ours in &evidence.own_words {
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
    stage: Option<BootWordStage>,
    evidence: &BootEvidence,
    line: &LintedLine,
    findings: &[Finding],
) -> ParameterCheck {
    let parameter = Parameter::parse(&word);
    let case = ParameterCase {
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
            let understood = acceptance::acceptance(&case);
            let works = match understood.truth {
                Truth::No => CheckAnswer::no("the kernel did not accept it"),
                _ => case.works(),
            };
            (understood, works)
        }
        Truth::No => (
            CheckAnswer::unknown("the kernel never saw it"),
            CheckAnswer::no("the kernel never saw it"),
        ),
        Truth::Unknown | Truth::Unseen => {
            let why = "it is unknown whether it reached the kernel";
            (CheckAnswer::unknown(why), CheckAnswer::unknown(why))
        }
    };
    let truths = [reached.truth, understood.truth, works.truth];
    let outcome = match missing {
        Some(missing) => missing,
        None if truths.contains(&Truth::No) => ParameterOutcome::Broken,
        None if truths.contains(&Truth::Unknown) => ParameterOutcome::Unknown,
        None => ParameterOutcome::Works,
    };
    ParameterCheck {
        ours: stage,
        reached,
        understood,
        works,
        outcome,
        word,
    }
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;

    #[test]
    fn every_name_is_a_known_parameter_in_exactly_one_family() {
        let mut seen = std::collections::BTreeSet::new();
        for name in FAMILIES.iter().flat_map(|family| family.names) {
            assert!(crate::parameters::parameter(name).is_some(), "{name}");
            assert!(seen.insert(name), "{name} has two families");
        }
    }
}
