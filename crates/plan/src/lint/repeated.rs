//! Rules about a repeated `isolcpus=`. [`super::occurrence`] determines which one the kernel obeys, and gives the source.

use super::Check::Each;
use super::isolcpus::raw;
use super::line::{Isolcpus, LintedLine};
use super::occurrence::clash;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};
use machine::OrderBy;

pub(super) const TWICE: LintRule = rule(
    "isolcpus-twice",
    Error,
    "from 4.15 on the kernel keeps the first isolcpus= of a flag and ignores a later one with other CPUs (\"must \
     match\"), up to 5.17 whatever its flags; up to 4.14 the last one counts",
    "write one isolcpus= with all CPUs",
    Each(|line| {
        if line.facts.since((4, 15)) == Some(false) {
            return replaced(line);
        }
        // One hit per occurrence, with the first that it contradicts: a line may have thousands of them.
        let mut hits = Vec::new();
        let mut distinct: Vec<(usize, &Isolcpus)> = Vec::new();
        for (at, other) in line.isolcpus.iter().enumerate() {
            let clash = distinct.iter().find_map(|(place, one)| {
                let clash = clash(one, other, line.facts);
                Some((*place, clash.then(|| clashing(line, one, other)).flatten()?))
            });
            hits.extend(clash);
            if !distinct.iter().any(|(_, one)| one.is_like(other)) {
                distinct.push((at, other));
            }
        }
        hits.order_by_key(|(place, _)| *place);
        hits.into_iter().map(|(_, hit)| hit).collect()
    }),
);

/// What is wrong with the second of two occurrences that share a flag. An edit never isolates CPUs that an empty list
/// leaves unisolated.
fn clashing(line: &LintedLine, one: &Isolcpus, other: &Isolcpus) -> Option<LintHit> {
    let since = |version| line.facts.since(version);
    let hit = LintHit::on(raw(line, other));
    match (&one.cpus, &other.cpus) {
        (Some(first), Some(second)) if first != second => Some(
            hit.because(format!("{} comes first", raw(line, one)))
                .drop([other.word]),
        ),
        (Some(first), None) if other.is_empty() => Some(
            hit.because(format!("an empty list does not cancel the earlier CPU {first}"))
                .at(if since((4, 15)).is_some() { Warning } else { Info })
                .fix("remove the first one")
                .drop([one.word]),
        ),
        // An empty list is not stored before 5.14 nor from 6.9 on (`kernel/sched/isolation.c`, `housekeeping_setup`).
        (None, Some(_)) if one.is_empty() && since((5, 14)) != Some(false) && since((6, 9)) != Some(true) => {
            let hit = hit.because("an empty list comes first on the line");
            Some(match (since((5, 14)), since((6, 9))) {
                (Some(true), Some(false)) => hit.fix("remove the empty one").drop([other.word]),
                _ => hit.at(Info).fix("remove the empty one"),
            })
        }
        _ => None,
    }
}

/// Up to 4.14: every occurrence that is followed by another list.
fn replaced(line: &LintedLine) -> Vec<LintHit> {
    let Some((last, earlier)) = line.isolcpus.split_last() else {
        return Vec::new();
    };
    if last.cpus.is_none() && !last.is_empty() {
        return Vec::new();
    }
    let level = if last.is_empty() { Warning } else { Error };
    earlier
        .iter()
        .filter(|one| one.cpus.is_some() && one.cpus != last.cpus)
        .map(|one| {
            let hit = LintHit::on(raw(line, one)).because(format!("{} follows", raw(line, last)));
            hit.at(level).drop([one.word])
        })
        .collect()
}
