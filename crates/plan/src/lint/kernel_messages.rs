//! Rules about what the kernel booted with this line reported about it, and did.

use super::Check::{Each, One};
use super::line::{BootWord, LintedLine, is_empty_list};
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};
use crate::parameters::{ParameterReader, parameter};
use machine::{CpuSet, same_name};

/// The start of the kernel's list of unknown parameters (5.14 and later, `init/main.c`).
const UNKNOWN: &str = "Unknown kernel command line parameters";

fn messages<'a>(line: &'a LintedLine) -> impl Iterator<Item = &'a str> {
    let outcome = line.facts.outcome.iter();
    outcome.flat_map(|outcome| outcome.messages.iter().flatten().map(String::as_str))
}

/// Words that the kernel listed as unknown.
fn unknown<'a>(line: &'a LintedLine) -> impl Iterator<Item = &'a str> {
    messages(line)
        .filter_map(|message| message.split_once(UNKNOWN))
        .flat_map(|(_, list)| list.split(['"', ' ', ',']).filter(|word| !word.is_empty()))
}

fn is_list(word: &BootWord) -> bool {
    word.parameter.value.is_some() && word.takes_list()
}

/// Whether the parameter works despite the kernel's message: 7.x lists nohz_full= if a nohz flag of isolcpus= came
/// first, but obeys it.
fn works_anyway(line: &LintedLine, word: &BootWord) -> bool {
    let in_force = line
        .facts
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.nohz_full.as_ref());
    same_name(word.name(), "nohz_full") && in_force.is_some_and(|cpus| *cpus == line.nohz_full && !cpus.is_empty())
}

pub(super) const NOT_KNOWN: LintRule = rule(
    "kernel-did-not-know",
    Error,
    "the running kernel listed it under \"Unknown kernel command line parameters\" and passed it to init",
    "remove it, or boot a kernel that supports it",
    Each(|line| {
        let listed: Vec<&str> = unknown(line).collect();
        line.kernel()
            .filter(|(_, word)| listed.contains(&word.raw))
            // From 6.9 on the kernel also lists `isolcpus=` and `nohz_full=` without CPUs there, and nothing is lost.
            .filter(|(_, word)| !(is_list(word) && is_empty_list(word.value())))
            .filter(|(_, word)| parameter(word.name()).is_some_and(|row| row.reader == ParameterReader::Kernel))
            .map(|(_, word)| {
                let hit = word.hit();
                if works_anyway(line, word) {
                    hit.at(Warning).because("it is active nevertheless")
                } else {
                    hit
                }
            })
            .collect()
    }),
);

pub(super) const COMPLAINED: LintRule = rule(
    "kernel-complained",
    Error,
    "the running kernel printed this about the line when it booted",
    "correct the parameters that it names",
    Each(|line| {
        let about = |text: &&str| {
            [
                "Housekeeping:",
                "isolcpus:",
                "all isolcpus= values",
                "bad CPU range",
                "nohz_full: ",
            ]
            .iter()
            .any(|part| text.contains(part))
        };
        let named = |text: &str| {
            let word = line
                .last("nohz_full")
                .filter(|_| text.contains("nohz_full= must match"));
            word.is_some_and(|(_, word)| works_anyway(line, word))
        };
        // The messages of kernels 4.15 to 5.13 about an empty list, which has the same effect.
        let of_empty = |text: &str| {
            text.contains("incorrect CPU range")
                && ["isolcpus", "nohz_full"].iter().any(|name| line.is_empty_list(name))
        };
        messages(line)
            .filter(about)
            .map(|text| {
                LintHit::on("kernel")
                    .because(format!("`{}`", text.trim()))
                    .at(if named(text) || of_empty(text) { Warning } else { Error })
            })
            .collect()
    }),
);

pub(super) const NOT_IN_FORCE: LintRule = rule(
    "not-in-force",
    Error,
    "the kernel does not do what the line requests",
    "search its messages: dmesg | grep -e Housekeeping -e Unknown",
    Each(|line| {
        let Some(outcome) = &line.facts.outcome else {
            return Vec::new();
        };
        let compare = |file: &str, requested: &CpuSet, seen: &Option<CpuSet>| {
            let seen = seen.as_ref()?;
            let missing = requested.minus(seen);
            (!missing.is_empty()).then(|| {
                LintHit::on(requested.to_string()).because(format!(
                    "/sys/devices/system/cpu/{file} has `{seen}`, without CPU {missing}"
                ))
            })
        };
        let isolated = compare("isolated", &line.domain, &outcome.isolated);
        let tickless = compare("nohz_full", &line.nohz_full, &outcome.nohz_full);
        isolated.into_iter().chain(tickless).collect()
    }),
);

pub(super) const NO_LOG: LintRule = rule(
    "kernel-log-unreadable",
    Info,
    "the kernel's messages about this line could not be read, or were overwritten",
    "run this as root, soon after the boot",
    One(|line| {
        let unread = line.facts.outcome.as_ref().filter(|outcome| outcome.messages.is_none());
        unread.map(|_| LintHit::on("kernel log"))
    }),
);
