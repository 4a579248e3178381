//! Checks whether the machine matches `/etc/quietcore.toml`, at run time and on the boot line, and gives one verdict.

use super::{BootEvidence, CheckAnswer, DeclaredPartition, ParameterOutcome, Truth};
use crate::declared::{ActivationMode, BootPart};
use crate::lint::LintedLine;
use machine::CpuSet;
use serde::Serialize;

/// Whether one declaration matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// The partition; `None` for what belongs to none.
    pub partition: Option<String>,
    /// The CPUs.
    pub cpus: Option<CpuSet>,
    /// Whether the boot line is as declared.
    pub answer: CheckAnswer,
    /// Whether its run-time part is active; `None` for what belongs to no partition.
    pub run_time: Option<CheckAnswer>,
}

impl Agreement {
    /// Its part of the verdict. CPUs that the boot line cannot know are no fault.
    pub(super) fn outcome(&self) -> ParameterOutcome {
        let run_time = self.run_time.as_ref().map(|answer| answer.truth);
        match (self.answer.truth, run_time) {
            (Truth::No, _) | (_, Some(Truth::No)) => ParameterOutcome::Broken,
            (_, Some(Truth::Unknown)) => ParameterOutcome::Unknown,
            _ => ParameterOutcome::Works,
        }
    }
}

/// Compares; empty if nothing is declared, or if no words are ours and none are declared.
pub(super) fn agreement(evidence: &BootEvidence) -> Vec<Agreement> {
    let words: Vec<&str> = evidence
        .own_words
        .iter()
        .flat_map(|ours| &ours.words)
        .map(String::as_str)
        .collect();
    let is_requested = evidence.declared.iter().any(|one| one.boot == BootPart::OnLine);
    if evidence.declared.is_empty() || (words.is_empty() && !is_requested) {
        return Vec::new();
    }
    let lines = LineIsolation {
        own: (!words.is_empty()).then(|| LintedLine::new(&words.join(" "), evidence.facts).isolated()),
        running: LintedLine::new(evidence.line(), evidence.facts).isolated(),
    };
    let mut all: Vec<Agreement> = evidence
        .declared
        .iter()
        .map(|one| Agreement {
            partition: Some(one.name.clone()),
            cpus: one.cpus.clone().ok(),
            answer: on_line(one, &lines),
            run_time: Some(run_time(one, evidence)),
        })
        .collect();
    all.extend(in_no_partition(evidence, &lines));
    if all.iter().all(|one| one.answer.truth != Truth::No) && is_requested {
        all.extend(lacking(evidence, &words));
    }
    all
}

/// The CPUs that boot lines isolate.
struct LineIsolation {
    /// Our line; `None` if we wrote none.
    own: Option<CpuSet>,
    /// The running line.
    running: CpuSet,
}

fn on_line(one: &DeclaredPartition, lines: &LineIsolation) -> CheckAnswer {
    let cpus = match (&one.cpus, one.boot) {
        (_, BootPart::RunTimeOnly) => {
            return CheckAnswer::unseen("it is declared without the boot line (`boot = false`)");
        }
        (Err(why), _) => return CheckAnswer::unknown(why.to_string()),
        (Ok(cpus), _) => cpus,
    };
    match (&lines.own, one.boot) {
        (Some(ours), _) if cpus.is_subset(ours) => CheckAnswer::yes(format!(
            "the boot line from quietcore isolates CPU \
             {cpus}"
        )),
        (Some(ours), _) => CheckAnswer::no(format!(
            "the boot line from quietcore isolates CPU {ours}, without CPU {} of this partition; `quietcore boot set \
             --cpus {}` adds it",
            cpus.minus(ours),
            ours.or(cpus)
        )),
        (None, BootPart::OnLine) if cpus.is_subset(&lines.running) => CheckAnswer::yes(format!(
            "the running line isolates CPU {cpus}, and quietcore did not write it"
        )),
        (None, BootPart::OnLine) => CheckAnswer::no(format!(
            "its boot part is missing: no boot line isolates CPU {}; `quietcore boot set` writes the declared one",
            cpus.minus(&lines.running)
        )),
        (None, _) => CheckAnswer::unseen(
            "the declaration does not mention the boot line, and quietcore has not \
             changed it",
        ),
    }
}

fn run_time(one: &DeclaredPartition, evidence: &BootEvidence) -> CheckAnswer {
    let by_hand = one.restored_at_boot == ActivationMode::ByHand;
    let absent = |what: String| match by_hand {
        true => CheckAnswer::unseen(format!(
            "{what}; only `quietcore apply` activates it (`at_boot = false`)"
        )),
        false => CheckAnswer::no(format!("{what}; `quietcore apply` activates it")),
    };
    let Some(in_force) = &evidence.in_force else {
        return by_kernel(one, evidence, &absent);
    };
    let Some(found) = in_force.iter().find(|found| found.name == one.name) else {
        return absent("it is not active".to_owned());
    };
    match (&one.cpus, found.drift.as_slice()) {
        (Ok(cpus), _) if *cpus != found.cpus => CheckAnswer::no(format!(
            "it is active with CPU {}; `quietcore apply --resize --partition {} --cpus {cpus}` changes it to the \
             declared CPUs",
            found.cpus, found.name
        )),
        (_, []) => CheckAnswer::yes(format!(
            "active on CPU {}, and every written file has its value",
            found.cpus
        )),
        (_, drift) => CheckAnswer::no(format!(
            "active on CPU {}, but {}; `quietcore undo` and `quietcore apply` recreate it",
            found.cpus,
            drift.join("; ")
        )),
    }
}

/// Without our journal: from the kernel's own partitions.
fn by_kernel(one: &DeclaredPartition, evidence: &BootEvidence, absent: &dyn Fn(String) -> CheckAnswer) -> CheckAnswer {
    let machine = evidence.machine;
    let (Ok(cpus), Some(_)) = (&one.cpus, &machine.cgroups.cpuset) else {
        return CheckAnswer::unknown(
            "the active partitions are in a journal that only root can read, on the machine itself",
        );
    };
    let partitions = &machine.isolation.partitions;
    let found = partitions
        .iter()
        .find(|set| set.effective_cpus.as_ref().or(set.cpus.as_ref()) == Some(cpus));
    match found {
        Some(set) => CheckAnswer::unknown(format!(
            "the kernel has a partition of CPU {cpus} ({}); only root on the machine itself can check the rest of it",
            set.name
        )),
        None => absent(format!("the kernel has no partition of CPU {cpus}")),
    }
}

/// CPUs of our line that belong to no declared partition.
fn in_no_partition(evidence: &BootEvidence, lines: &LineIsolation) -> Option<Agreement> {
    let mut left = lines.own.clone()?;
    for one in &evidence.declared {
        // CPUs that are chosen later may be any of them.
        left = left.minus(one.cpus.as_ref().ok()?);
    }
    (!left.is_empty()).then(|| Agreement {
        partition: None,
        answer: CheckAnswer::no(format!(
            "the boot line from quietcore isolates CPU {left}, which no declared partition contains: declare one \
             (`quietcore apply --cpus {left} --save`), or remove it from the line"
        )),
        cpus: Some(left),
        run_time: None,
    })
}

/// Words that the declared profile requires and that are neither ours nor running.
fn lacking(evidence: &BootEvidence, ours: &[&str]) -> Option<Agreement> {
    let running: Vec<&str> = machine::cmdline::words(evidence.line()).collect();
    let is_there = |word: &str| match ours.is_empty() {
        true => running.contains(&word),
        false => ours.contains(&word),
    };
    let missing: Vec<&str> = evidence
        .declared_words
        .iter()
        .flatten()
        .map(String::as_str)
        .filter(|word| !is_there(word))
        .collect();
    (!missing.is_empty()).then(|| Agreement {
        partition: None,
        cpus: None,
        answer: CheckAnswer::no(format!(
            "the declared partitions need {} on the boot line, which has something else; `quietcore boot set` writes \
             it",
            missing.join(" ")
        )),
        run_time: None,
    })
}
