//! Rules about the CPU lists of a line: whether they parse, whether the machine has the CPUs, and which are left for the rest.

use super::Check::{Each, One};
use super::line::{BootWord, LintedLine, parse_cpus, uses_words};
use super::repair::LineEdit;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};
use machine::{CpuSet, same_name};

/// Every list parameter with its index, its list (without the flags of `isolcpus=`), and how to write another.
fn lists<'a>(line: &'a LintedLine) -> impl Iterator<Item = (usize, &'a BootWord<'a>, String)> + 'a {
    line.kernel()
        .filter(|(_, word)| word.parameter.value.is_some())
        .filter(|(_, word)| word.takes_list())
        .map(|(place, word)| {
            let flagged = line.isolcpus.iter().find(|one| one.word == place);
            (
                place,
                word,
                flagged.map_or_else(|| word.value().to_owned(), |one| one.list.clone()),
            )
        })
}

/// The edit that gives a word another list, or removes it if the list is empty.
fn relist(line: &LintedLine, place: usize, word: &BootWord, list: &CpuSet) -> LineEdit {
    match line.isolcpus.iter().find(|one| one.word == place) {
        Some(one) if !list.is_empty() => LineEdit::Set(place, one.with(&one.flags(), &list.to_string())),
        _ => LineEdit::list(place, word.name(), list),
    }
}

/// Edits that remove the boot CPU from every isolating list that holds it.
fn without_boot_cpu(line: &LintedLine) -> Vec<LineEdit> {
    let boot = [line.facts.boot_cpu()].into_iter().collect();
    lists(line)
        .filter(|(_, word, _)| is_isolating(word))
        .filter_map(|(place, word, list)| {
            let held = parse_cpus(&list, line.facts).ok()?;
            let rest = held.minus(&boot);
            (rest != held).then(|| relist(line, place, word, &rest))
        })
        .collect()
}

fn is_isolating(word: &BootWord) -> bool {
    ["isolcpus", "nohz_full", "rcu_nocbs"]
        .iter()
        .any(|name| same_name(name, word.name()))
}

pub(super) const BAD_LIST: LintRule = rule(
    "bad-cpu-list",
    Error,
    "the kernel cannot read this list and ignores the parameter (rcu_nocbs= then offloads all CPUs; irqaffinity= fails without a message)",
    "write a list such as 2-3,8",
    Each(|line| {
        lists(line)
            .filter(|(_, _, list)| line.facts.possible.is_some() || !uses_words(list))
            .filter_map(|(_, word, list)| {
                let why = parse_cpus(&list, line.facts).err()?;
                Some(word.hit().because(why))
            })
            .collect()
    }),
);

pub(super) const NOT_POSSIBLE: LintRule = rule(
    "cpu-not-possible",
    Error,
    "the list names CPUs that this machine cannot have; depending on the kernel, it is cut or ignored",
    "name only CPUs of /sys/devices/system/cpu/possible",
    Each(|line| {
        let Some(possible) = &line.facts.possible else {
            return Vec::new();
        };
        lists(line)
            .filter_map(|(place, word, list)| {
                let cpus = parse_cpus(&list, line.facts).ok()?;
                let beyond = cpus.minus(possible);
                (!beyond.is_empty()).then(|| {
                    word.hit()
                        .because(format!("CPU {beyond} is not in {possible}"))
                        .edit(relist(line, place, word, &cpus.and(possible)))
                })
            })
            .collect()
    }),
);

pub(super) const WORDS_TOO_NEW: LintRule = rule(
    "cpu-words-too-new",
    Error,
    "kernels support `N` and `all` in CPU lists since 5.12",
    "write the numbers",
    Each(|line| {
        let Some(level) = line.before((5, 12)) else {
            return Vec::new();
        };
        lists(line)
            // rcu_nocbs=all is older than the general word.
            .filter(|(_, word, list)| uses_words(list) && !(same_name(word.name(), "rcu_nocbs") && list == "all"))
            .map(|(place, word, list)| {
                let hit = word.hit().at(level);
                match parse_cpus(&list, line.facts) {
                    Ok(cpus) if level == Error => hit.edit(relist(line, place, word, &cpus)),
                    _ => hit,
                }
            })
            .collect()
    }),
);

pub(super) const NO_HOUSEKEEPING: LintRule = rule(
    "no-housekeeping",
    Error,
    "every CPU is in the list: the kernel removes the boot CPU again and leaves all other work to it",
    "leave at least one CPU, the boot CPU, out of the lists",
    One(|line| {
        let possible = line.facts.possible.as_ref()?;
        let everything = |cpus: &CpuSet| !cpus.is_empty() && possible.is_subset(cpus);
        // `nohz_full=all` is the default of some distributions, and without `isolcpus=` every CPU still runs tasks.
        let level = match (everything(&line.domain), everything(&line.tickless())) {
            (true, _) => Error,
            (false, true) if possible.len() > 1 => Warning,
            (false, true) => Error,
            (false, false) => return None,
        };
        Some(
            LintHit::on(possible.to_string())
                .at(level)
                .edits(without_boot_cpu(line)),
        )
    }),
);

pub(super) const NO_COMMON: LintRule = rule(
    "no-common-housekeeping",
    Error,
    "from 7.0 on one present CPU must be in neither nohz_full= nor isolcpus=domain, or the kernel ignores the later \
     parameter; on older kernels no CPU is left for the other work",
    "leave one CPU out of both lists",
    One(|line| {
        let possible = line.facts.possible.as_ref()?;
        let (domain, tickless) = (&line.domain, line.tickless());
        let whole = possible.is_subset(domain) || possible.is_subset(&tickless);
        if whole || domain.is_empty() || tickless.is_empty() || !possible.is_subset(&domain.or(&tickless)) {
            return None;
        }
        let level = match line.facts.since((7, 0)) {
            Some(true) => Error,
            Some(false) => Warning,
            None => Info,
        };
        Some(
            LintHit::on(format!("{domain} and {tickless}"))
                .at(level)
                .edits(without_boot_cpu(line)),
        )
    }),
);

pub(super) const BOOT_CPU: LintRule = rule(
    "boot-cpu-isolated",
    Warning,
    "the boot CPU keeps time for the others and is removed from nohz_full again; many parts of the kernel use the \
     first CPU by default",
    "isolate other CPUs",
    One(|line| {
        let boot = line.facts.boot_cpu();
        let is_isolated = line.isolated().contains(boot);
        is_isolated.then(|| LintHit::on(format!("cpu{boot}")).edits(without_boot_cpu(line)))
    }),
);

pub(super) const SIBLING: LintRule = rule(
    "smt-sibling-shared",
    Warning,
    "two threads share one core's pipeline and first-level caches, so work on the other thread takes time that no \
     counter shows",
    "isolate the whole core, or boot with nosmt",
    Each(|line| {
        if line.has("nosmt") || line.is("mitigations", &["auto,nosmt"]).is_some() {
            return Vec::new();
        }
        let isolated = line.undisturbed();
        line.facts
            .cores
            .iter()
            .filter_map(|core| {
                let (ours, others) = (core.and(&isolated), core.minus(&isolated));
                (!ours.is_empty() && !others.is_empty()).then(|| {
                    LintHit::on(ours.to_string()).because(format!("CPU {others} is on the same core as CPU {ours}"))
                })
            })
            .collect()
    }),
);

pub(super) const NOT_BROUGHT_UP: LintRule = rule(
    "cpu-not-brought-up",
    Warning,
    "the line also limits how many CPUs start at boot, and the isolated ones are above the limit",
    "raise or remove the limit; CPUs above maxcpus= can still be brought online by hand",
    Each(|line| {
        let limited = |name: &str| {
            let (_, word) = line.last(name)?;
            let limit: u32 = word.value().parse().ok()?;
            let beyond = line.isolated().minus(&CpuSet::range(0, limit.max(1) - 1));
            (!beyond.is_empty()).then(|| word.hit().because(format!("CPU {beyond} stays offline")))
        };
        ["maxcpus", "nr_cpus"].into_iter().filter_map(limited).collect()
    }),
);

pub(super) const SMP_OFF: LintRule = rule(
    "smp-off",
    Error,
    "this leaves only one CPU: nothing can be isolated",
    "remove it",
    Each(|line| {
        if line.isolated().is_empty() {
            return Vec::new();
        }
        line.found(&[
            ("nosmp", &[]),
            ("nolapic", &[]),
            ("disableapic", &[]),
            ("maxcpus", &["0"]),
            ("nr_cpus", &["1"]),
        ])
        .map(|(place, word)| word.hit().drop([place]))
        .collect()
    }),
);
