//! Determines whether the kernel accepted a parameter, from its messages, from the rules, and from what it exposes.

use super::case::Case;
use super::{Answer, Truth};
use crate::Level;
use crate::parameters::{Reader, Repeats};

/// Findings below error level that still mean that the kernel did not accept the word.
const NOT_TAKEN: &[&str] = &[
    "misspelled-parameter",
    "foreign-parameter",
    "sysctl-as-parameter",
    "kthread-cpus-unknown",
];

/// The first kernel that lists unknown parameters (`init/main.c`).
const LISTS_UNKNOWN: (u32, u32) = (5, 14);

/// Whether the running kernel accepted the parameter at all.
pub(super) fn understood(case: &Case) -> Answer {
    refused(case)
        .or_else(|| replaced(case))
        .or_else(|| case.family.and_then(|family| (family.understood)(case)))
        .unwrap_or_else(|| not_listed(case))
}

/// Objections from the kernel's messages and from the rules.
fn refused(case: &Case) -> Option<Answer> {
    let family = case.family;
    let defeats = family.map(|family| family.defeated_by).unwrap_or_default();
    let against = case.findings.iter().find(|one| {
        let counts = one.level == Level::Error && !defeats.contains(&one.id.as_str());
        one.subject == case.raw && (counts || NOT_TAKEN.contains(&one.id.as_str()))
    });
    if let Some(finding) = against {
        return Some(Answer::no(format!("{}{}", finding.message, board(case))));
    }
    let complaints = family.map(|family| family.complaints).unwrap_or_default();
    let said = complaints.iter().find_map(|part| case.message(part))?;
    // Some kernels complain but obey: the exposed state decides.
    let shown = family.and_then(|family| (family.understood)(case));
    match shown.map(|answer| answer.truth) {
        Some(Truth::Yes) => None,
        _ => Some(Answer::no(format!("the kernel said `{said}`{}", board(case)))),
    }
}

/// A hint if the kernel is a widespread one that is known to lack the option.
fn board(case: &Case) -> &'static str {
    let release = case.evidence.facts.release.as_deref().unwrap_or_default();
    let stock = ["-rpi", "-v6+", "-v7+", "-v7l+", "-v8+", "-v8-16k+"];
    match stock.iter().any(|part| release.contains(part)) {
        true => "; the stock kernels of Raspberry Pi are built without it",
        false => "",
    }
}

/// For a parameter that counts only once: the other occurrence that counts.
fn replaced(case: &Case) -> Option<Answer> {
    let row = case.row.filter(|row| row.repeats != Repeats::Many)?;
    let (_, counts) = case.line.counting(row.name)?;
    let which = match (row.repeats, case.evidence.facts.since((4, 15))) {
        (Repeats::First, Some(true) | None) => "the first one",
        _ => "the last one",
    };
    (counts.raw != case.raw && row.name != "isolcpus")
        .then(|| Answer::no(format!("`{}` is on the line too, and {which} counts", counts.raw)))
}

/// The answer if the kernel did not list it as unknown.
fn not_listed(case: &Case) -> Answer {
    let Some(row) = case.row else {
        return Answer::new(Truth::Unseen, "quietcore does not know it");
    };
    if row.reader == Reader::Program {
        return Answer::new(
            Truth::Unseen,
            "it is not for the kernel: a program reads it from /proc/cmdline",
        );
    }
    // Parameters of modules are never listed: the module may be loaded later.
    if row.name.contains('.') {
        return Answer::new(
            Truth::Unseen,
            "kernels do not tell which parameters of modules they took",
        );
    }
    match (case.evidence.facts.since(LISTS_UNKNOWN), case.messages()) {
        (Some(true), Some(_)) => {
            Answer::yes("the kernel did not list it under \"Unknown kernel command line parameters\"")
        }
        (Some(true), None) => Answer::unknown(
            "the kernel's messages could not be read, or their beginning is overwritten; run it as root, soon after the boot",
        ),
        _ => Answer::new(
            Truth::Unseen,
            "kernels before 5.14 do not say which parameters were not recognized",
        ),
    }
}
