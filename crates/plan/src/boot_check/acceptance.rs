//! Determines whether the kernel accepted a parameter, from its messages, from the rules, and from what it exposes.

use super::case::ParameterCase;
use super::{CheckAnswer, Truth};
use crate::Level;
use crate::parameters::{ParameterReader, Repeatability};

/// Findings below error level that still mean that the kernel did not accept the word.
const NOT_ACCEPTED: &[&str] = &[
    "misspelled-parameter",
    "foreign-parameter",
    "sysctl-as-parameter",
    "kthread-cpus-unknown",
];

/// The first kernel that lists unknown parameters (`init/main.c`).
const LISTS_UNKNOWN: (u32, u32) = (5, 14);

/// Whether the running kernel accepted the parameter at all.
pub(super) fn acceptance(case: &ParameterCase) -> CheckAnswer {
    refused(case)
        .or_else(|| replaced(case))
        .or_else(|| case.family.and_then(|family| (family.acceptance)(case)))
        .unwrap_or_else(|| not_listed(case))
}

/// Objections from the kernel's messages and from the rules.
fn refused(case: &ParameterCase) -> Option<CheckAnswer> {
    let family = case.family;
    let defeats = family.map(|family| family.defeated_by).unwrap_or_default();
    let against = case.findings.iter().find(|one| {
        let counts = one.level == Level::Error && !defeats.contains(&one.id.as_str());
        one.subject == case.raw && (counts || NOT_ACCEPTED.contains(&one.id.as_str()))
    });
    if let Some(finding) = against {
        return Some(CheckAnswer::no(format!("{}{}", finding.message, board(case))));
    }
    let complaints = family.map(|family| family.complaints).unwrap_or_default();
    let message = complaints.iter().find_map(|part| case.message(part))?;
    // Some kernels complain but obey: the exposed state decides.
    let shown = family.and_then(|family| (family.acceptance)(case));
    match shown.map(|answer| answer.truth) {
        Some(Truth::Yes) => None,
        _ => Some(CheckAnswer::no(format!("the kernel said `{message}`{}", board(case)))),
    }
}

/// A hint if the kernel is a widespread one that is known to lack the option.
fn board(case: &ParameterCase) -> &'static str {
    let release = case.evidence.facts.release.as_deref().unwrap_or_default();
    let stock = ["-rpi", "-v6+", "-v7+", "-v7l+", "-v8+", "-v8-16k+"];
    match stock.iter().any(|part| release.contains(part)) {
        true => "; the standard kernels of Raspberry Pi are built without it",
        false => "",
    }
}

/// For a parameter that counts only once: the other occurrence that counts.
fn replaced(case: &ParameterCase) -> Option<CheckAnswer> {
    let row = case.row.filter(|row| row.repeats != Repeatability::Many)?;
    let (_, counts) = case.line.counting(row.name)?;
    let which = match (row.repeats, case.evidence.facts.since((4, 15))) {
        (Repeatability::First, Some(true) | None) => "the first one",
        _ => "the last one",
    };
    (counts.raw != case.raw && row.name != "isolcpus")
        .then(|| CheckAnswer::no(format!("`{}` is on the line too, and only {which} counts", counts.raw)))
}

/// The answer if the kernel did not list it as unknown.
fn not_listed(case: &ParameterCase) -> CheckAnswer {
    let Some(row) = case.row else {
        return CheckAnswer::unseen("quietcore does not know it");
    };
    if row.reader == ParameterReader::Program {
        return CheckAnswer::unseen("it is not a kernel parameter: a program reads it from /proc/cmdline");
    }
    // Parameters of modules are never listed: the module may be loaded later.
    if row.name.contains('.') {
        return CheckAnswer::unseen("kernels do not report which module parameters they accepted");
    }
    match (case.evidence.facts.since(LISTS_UNKNOWN), case.messages()) {
        (Some(true), Some(_)) => {
            CheckAnswer::yes("the kernel did not list it under \"Unknown kernel command line parameters\"")
        }
        (Some(true), None) => CheckAnswer::unknown(
            "the kernel's messages could not be read, or their beginning was overwritten; run this as root, soon after \
             the boot",
        ),
        _ => CheckAnswer::unseen("kernels before 5.14 do not report parameters that they did not recognize"),
    }
}
