//! Rules about lists that name no CPU, as in `isolcpus= nohz_full=2-3 irqaffinity=`, which TuneD writes.
//!
//! `bitmap_parselist` (`lib/bitmap-str.c`) accepts them. What the kernel does with one depends on the parameter, and
//! for `isolcpus=` and `nohz_full=` on its version (`kernel/sched/isolation.c`, `housekeeping_setup`).

use super::Check::Each;
use super::line::{LISTS, LintedLine, is_empty_list};
use super::torn::torn;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info};
use machine::same_name;

pub(super) const EMPTY: LintRule = rule(
    "empty-cpu-list",
    Info,
    "an empty list is valid and names no CPU",
    "",
    Each(|line| {
        let torn: Vec<usize> = torn(line).map(|(place, _)| place).collect();
        line.kernel()
            .filter(|(place, word)| {
                let value = word.parameter.value.as_deref();
                value.is_some_and(is_empty_list) && !torn.contains(place)
            })
            .filter_map(|(_, word)| {
                let name = LISTS.iter().find(|name| same_name(name, word.name()))?;
                let hit = word.hit();
                Some(match effect(line, name) {
                    "" => hit,
                    effect => hit.because(effect),
                })
            })
            .collect()
    }),
);

/// What an empty list does; empty if it does nothing.
fn effect(line: &LintedLine, name: &str) -> &'static str {
    let since = |version| line.facts.since(version);
    // The check for CPUs beyond `nr_cpu_ids` refuses an empty mask too: its `cpumask_last` is the size.
    let refused = since((4, 15)) == Some(true) && since((5, 14)) == Some(false);
    match name {
        "irqaffinity" => "only the boot CPU receives interrupts that are requested later",
        "workqueue.unbound_cpus" => "it has no effect",
        "isolcpus" | "nohz_full" if refused => {
            "kernels 4.15 to 5.13 print \"incorrect CPU range\" and ignore it, which has the same effect"
        }
        _ => "",
    }
}

/// The second of `isolcpus=` and `nohz_full=` on the line, if the first is empty and counts: 5.14 to 5.17.
pub(super) fn drops_the_other(line: &LintedLine) -> Option<LintHit> {
    if line.facts.since((5, 14)) == Some(false) || line.facts.since((5, 18)) == Some(true) {
        return None;
    }
    let level = match (line.facts.since((5, 14)), line.facts.since((5, 18))) {
        (Some(true), Some(false)) => Error,
        _ => Info,
    };
    let (place, word) = line.counting("nohz_full")?;
    let one = line.isolcpus.first()?;
    let raw = line.words.get(one.word).map(|word| word.raw)?;
    let (dropped, empty, why) = if one.is_empty() && !line.nohz_full.is_empty() && one.word < place {
        (word.raw, one.word, "an earlier isolcpus= names no CPU")
    } else if line.is_empty_list("nohz_full") && one.cpus.is_some() && place < one.word {
        (raw, place, "an earlier nohz_full= names no CPU")
    } else {
        return None;
    };
    let hit = LintHit::on(dropped).because(why).at(level).fix("remove the empty one");
    Some(if level == Error { hit.drop([empty]) } else { hit })
}
