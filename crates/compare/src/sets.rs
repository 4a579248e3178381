//! Compares files as sets of repetitions: selects the questions that all files answer, and finds what makes a verdict
//! meaningless.

use crate::verdict::{ComparisonAnswer, ComparisonQuestion, TooFewRepetitions, judge};
use formats::statistics::{SHARES, best_mean_ns, best_quantile, not_below};
use formats::{Basis, Recording, Series, SeriesKind, WakeUpPart};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Repetitions of one measurement.
#[derive(Clone, Debug)]
pub struct RunSet<'a> {
    /// Its name for the user.
    pub name: String,
    /// One file per repetition.
    pub runs: Vec<&'a Recording>,
}

/// A question to all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantity {
    /// The thread, as a name for display.
    pub thread: String,
    /// Latency or noise.
    pub kind: SeriesKind,
    /// The population: all expected wake-ups, where every file reports how late they were; otherwise samples.
    pub basis: Basis,
    /// The number that is compared.
    pub number: Number,
}

/// A number that a run reports about a thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "what", content = "of")]
pub enum Number {
    /// Nanoseconds that this share of the wake-ups did not exceed.
    Quantile(f64),
    /// Nanoseconds of gaps per second.
    Stolen,
    /// Gaps of at least this many nanoseconds, per second.
    Rate(u64),
}

/// Gap lengths whose rates are compared.
const LENGTHS_NS: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Why there is no verdict although there are repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "why", content = "what")]
pub enum NoVerdictReason {
    /// No number of such repetitions would be enough.
    TooFew(String),
    /// Times of an emulated processor are meaningless: these runs.
    Emulated(usize),
    /// No thread and no quantile occurs in all of them.
    NothingInCommon,
}

/// The comparison of two sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetComparison {
    /// The name of the first set.
    pub first: String,
    /// Its repetitions.
    pub first_runs: usize,
    /// The name of the other set.
    pub other: String,
    /// Its repetitions.
    pub other_runs: usize,
    /// The longest duration of a repetition, in nanoseconds; `None` where no file reports it.
    pub run_ns: Option<u64>,
    /// The questions and their answers.
    pub answers: Vec<(Quantity, ComparisonAnswer)>,
    /// Why there are no answers.
    pub withheld: Option<NoVerdictReason>,
    /// Why runs do not represent the machine in production, from their own results, and the number of runs with each reason.
    pub not_representative: BTreeMap<String, usize>,
    /// One set was measured completely before the other: a change of the machine between them looks like a difference.
    pub one_after_the_other: bool,
    /// Conditions that are equal within each set and differ between the sets: name, first, other. They may explain a
    /// difference.
    pub conditions: Vec<(String, String, String)>,
}

/// Compares the other set with the first.
#[must_use]
pub fn compared(first: &RunSet<'_>, other: &RunSet<'_>) -> SetComparison {
    let runs = || first.runs.iter().chain(&other.runs).copied();
    let emulated = runs()
        .filter(|run| run.own.as_ref().is_some_and(|own| own.environment.emulated))
        .count();
    let quantities = quantities(first, other);
    let (answers, withheld) = if emulated > 0 {
        (Vec::new(), Some(NoVerdictReason::Emulated(emulated)))
    } else if quantities.is_empty() {
        (Vec::new(), Some(NoVerdictReason::NothingInCommon))
    } else {
        let (quantities, questions): (Vec<Quantity>, Vec<ComparisonQuestion>) = quantities.into_iter().unzip();
        match judge(&questions) {
            Ok(answers) => (quantities.into_iter().zip(answers).collect(), None),
            Err(why @ TooFewRepetitions { .. }) => (Vec::new(), Some(NoVerdictReason::TooFew(why.to_string()))),
        }
    };
    SetComparison {
        first: first.name.clone(),
        first_runs: first.runs.len(),
        other: other.name.clone(),
        other_runs: other.runs.len(),
        run_ns: runs().filter_map(length_ns).max(),
        answers,
        withheld,
        not_representative: doubts(runs()),
        one_after_the_other: one_after_the_other(first, other),
        conditions: conditions(first, other),
    }
}

/// The questions that every repetition of both sets answers, with the answers.
fn quantities(first: &RunSet<'_>, other: &RunSet<'_>) -> Vec<(Quantity, ComparisonQuestion)> {
    let Some(pattern) = first.runs.first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for series in &pattern.series {
        let of = |set: &RunSet<'_>| -> Option<Vec<Series>> {
            set.runs.iter().map(|run| same(run, series).cloned()).collect()
        };
        let (Some(mut ours), Some(mut theirs)) = (of(first), of(other)) else {
            continue;
        };
        // All expected wake-ups, or the samples of all files: never a mixture.
        let schedules = |series: &[Series]| -> Option<Vec<Series>> {
            series
                .iter()
                .map(|series| series.by(Basis::Schedule).cloned())
                .collect()
        };
        let mut basis = Basis::Samples;
        if let (Some(own_schedules), Some(their_schedules)) = (schedules(&ours), schedules(&theirs)) {
            (ours, theirs, basis) = (own_schedules, their_schedules, Basis::Schedule);
        }
        for number in numbers(series.kind) {
            let values = |series: &[Series]| -> Option<Vec<(f64, f64)>> {
                series.iter().map(|series| value(series, number)).collect()
            };
            let (Some(first), Some(other)) = (values(&ours), values(&theirs)) else {
                continue;
            };
            let off = first.iter().chain(&other).map(|(_, off)| *off).fold(0.0, f64::max);
            let plain = |values: Vec<(f64, f64)>| values.into_iter().map(|(value, _)| value).collect();
            let quantity = Quantity {
                thread: pattern.name_of(series),
                kind: series.kind,
                basis,
                number,
            };
            let question = ComparisonQuestion {
                first: plain(first),
                other: plain(other),
                resolution: off,
            };
            found.push((quantity, question));
        }
    }
    // Events that never happened in any run are not compared.
    found.retain(|(_, question)| question.first.iter().chain(&question.other).any(|value| *value != 0.0));
    found
}

/// The questions for series of this kind.
#[must_use]
pub fn numbers(kind: SeriesKind) -> Vec<Number> {
    match kind {
        SeriesKind::Latency => SHARES.map(Number::Quantile).to_vec(),
        // No quantiles: where isolation removed the short gaps, the remaining long ones are a larger share.
        SeriesKind::Noise => {
            let rates = LENGTHS_NS.map(Number::Rate);
            std::iter::once(Number::Stolen).chain(rates).collect()
        }
    }
}

/// The value of a series and its possible error; `None` where the series does not report it.
#[must_use]
pub fn value(series: &Series, number: Number) -> Option<(f64, f64)> {
    match number {
        Number::Quantile(share) => middle(series, share),
        Number::Stolen => stolen(series),
        Number::Rate(length_ns) => rate(series, length_ns),
    }
}

/// The only series of a file, or the only one of that kind on that CPU, for the same part of a wake-up.
fn same<'a>(run: &'a Recording, reference: &Series) -> Option<&'a Series> {
    let of =
        |series: &Series| -> (SeriesKind, Option<u32>, Option<WakeUpPart>) { (series.kind, series.cpu, series.part) };
    if let [only] = run.series.as_slice()
        && (only.cpu.is_none() || reference.cpu.is_none())
    {
        return Some(only).filter(|only| only.kind == reference.kind);
    }
    let mut all = run
        .series
        .iter()
        .filter(|series| series.cpu.is_some() && of(series) == of(reference));
    all.next().filter(|_| all.next().is_none())
}

/// The middle of the range of a quantile, and its possible error.
fn middle(series: &Series, share: f64) -> Option<(f64, f64)> {
    let span = best_quantile(series, share)?;
    let (low, high) = (span.low_ns as f64, span.high_ns? as f64);
    Some((f64::midpoint(low, high), (high - low) / 2.0))
}

/// Nanoseconds of gaps per second.
fn stolen(series: &Series) -> Option<(f64, f64)> {
    let length = series.stated.duration_ns.filter(|length| *length > 0)? as f64;
    let count = series.stated.count.or(series.samples())? as f64;
    let sum = best_mean_ns(series).unwrap_or(0.0) * count;
    Some((sum / length * 1e9, 0.0))
}

/// Gaps of at least that length per second; gaps in the bucket that spans the limit may be on either side.
fn rate(series: &Series, least_ns: u64) -> Option<(f64, f64)> {
    let seconds = series.stated.duration_ns.filter(|length| *length > 0)? as f64 / 1e9;
    let (surely, possibly) = not_below(series, least_ns);
    let (surely, possibly) = (surely as f64 / seconds, possibly as f64 / seconds);
    Some((f64::midpoint(surely, possibly), (possibly - surely) / 2.0))
}

fn length_ns(run: &Recording) -> Option<u64> {
    let stated = run.series.iter().filter_map(|series| series.stated.duration_ns).max();
    run.own.as_ref().map(|own| own.duration_ns).or(stated)
}

fn doubts<'a>(runs: impl Iterator<Item = &'a Recording>) -> BTreeMap<String, usize> {
    let mut doubts = BTreeMap::new();
    for own in runs.filter_map(|run| run.own.as_ref()) {
        let interrupted = (!own.complete).then(|| "interrupted".to_owned());
        for why in own.not_representative.iter().cloned().chain(interrupted) {
            *doubts.entry(why).or_default() += 1;
        }
    }
    doubts
}

/// Times of RFC 3339 in UTC sort like their texts.
fn one_after_the_other(first: &RunSet<'_>, other: &RunSet<'_>) -> bool {
    let times = |set: &RunSet<'_>| -> Option<Vec<String>> {
        set.runs
            .iter()
            .map(|run| run.own.as_ref().map(|own| own.started_at.clone()))
            .collect()
    };
    let (Some(first), Some(other)) = (times(first), times(other)) else {
        return false;
    };
    let before = |one: &[String], two: &[String]| one.iter().max() < two.iter().min();
    before(&first, &other) || before(&other, &first)
}

/// The measurement conditions of a thread, without its results.
pub const CONDITIONS: [&str; 7] = [
    "policy",
    "priority",
    "interval_ns",
    "clock",
    "threshold_ns",
    "counter.name",
    "counter.invariant",
];

/// Facts that are equal within each set and differ between the sets; then the same for the conditions of their threads.
fn conditions(first: &RunSet<'_>, other: &RunSet<'_>) -> Vec<(String, String, String)> {
    let Some(pattern) = first.runs.first() else {
        return Vec::new();
    };
    let of_machines = pattern.facts.iter().filter_map(|(name, _)| {
        let (first, other) = (agreed_fact(first, name)?, agreed_fact(other, name)?);
        (first != other).then(|| (name.clone(), first.to_owned(), other.to_owned()))
    });
    let of_threads = CONDITIONS
        .iter()
        .flat_map(|field| measured_otherwise(pattern, first, other, field));
    of_machines.chain(of_threads).collect()
}

/// Threads of both sets that were measured under different conditions. A difference that all of them share is one line.
fn measured_otherwise(
    pattern: &Recording,
    first: &RunSet<'_>,
    other: &RunSet<'_>,
    field: &str,
) -> Vec<(String, String, String)> {
    let of = |set: &RunSet<'_>, series: &Series| -> Option<String> {
        let values = set
            .runs
            .iter()
            .map(|run| same(run, series).and_then(|series| fact(&series.facts, field)));
        let values: Vec<&str> = values.collect::<Option<_>>()?;
        Some(
            agreed(values.iter().map(|value| Some(*value)))
                .map_or_else(|| "not the same in all runs".to_owned(), str::to_owned),
        )
    };
    let mut found: Vec<(String, String, String)> = Vec::new();
    for series in &pattern.series {
        if let (Some(first), Some(other)) = (of(first, series), of(other, series))
            && first != other
        {
            found.push((format!("{} {field}", pattern.name_of(series)), first, other));
        }
    }
    let is_one = |(_, first, other): &(String, String, String)| (first, other) == (&found[0].1, &found[0].2);
    if found.len() > 1 && found.len() == pattern.series.len() && found.iter().all(is_one) {
        found.truncate(1);
        field.clone_into(&mut found[0].0);
    }
    found
}

fn fact<'a>(facts: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let known = facts.iter().find(|(known, _)| known == name);
    known.map(|(_, value)| value.as_str())
}

/// A fact that is equal in all files of a set.
fn agreed_fact<'a>(set: &RunSet<'a>, name: &str) -> Option<&'a str> {
    agreed(set.runs.iter().map(|run| fact(&run.facts, name)))
}

/// The common value; `None` where one value is missing or different.
fn agreed<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}
