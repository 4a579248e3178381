//! Checks a user's requirement on a measurement (`p99.99 < 50us`, `noise max < 1ms`) against a file. Three outcomes: it
//! holds, it does not, or the file cannot show it.

use crate::model::{Basis, Recording, Series, SeriesKind};
use crate::statistics::{as_f64, not_below, whole};
use serde::Serialize;

/// The accepted error of the inference from a sample to the run: 5 %.
const RISK: f64 = 0.05;

/// The value that must be below a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoundedStatistic {
    /// The value that this share (0 to 1) of the samples does not exceed.
    Quantile(f64),
    /// The largest.
    Max,
}

/// A requirement on a recording, such as `p99.9<=50us`.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// As the user wrote it.
    pub text: String,
    /// Restricts it to wake-ups or gaps; `None` for any kind.
    pub kind: Option<SeriesKind>,
    /// The value to check.
    pub which: BoundedStatistic,
    /// The limit.
    pub below_ns: u64,
}

impl Requirement {
    /// Parses the two sides: `p99.99`, `max`, or one of them after `latency` or `noise`; and the limit. `text` is the
    /// user's input.
    ///
    /// # Errors
    /// The error in the left side, as text.
    pub fn new(text: &str, left: &str, below_ns: u64) -> Result<Requirement, String> {
        let wrong = || format!("`{left}` is neither `max` nor a percentile such as p99 or p99.99");
        let words: Vec<&str> = left.split_whitespace().collect();
        let (kind, which) = match words.as_slice() {
            ["latency", which] => (Some(SeriesKind::Latency), *which),
            ["noise", which] => (Some(SeriesKind::Noise), *which),
            [which] => (None, *which),
            [kind, _] => {
                return Err(format!(
                    "`{kind}` is not a kind of measurement: there are `latency` and `noise`"
                ));
            }
            _ => return Err(wrong()),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let which = match which.strip_prefix('p') {
            None if which == "max" => BoundedStatistic::Max,
            Some(percent) if digits(percent) => {
                let percent: f64 = percent.parse().map_err(|_| wrong())?;
                if !(percent > 0.0 && percent < 100.0) {
                    return Err(format!("`{which}` is not a percentile: it must be between p0 and p100"));
                }
                BoundedStatistic::Quantile(percent / 100.0)
            }
            _ => return Err(wrong()),
        };
        Ok(Requirement {
            text: text.to_owned(),
            kind,
            which,
            below_ns,
        })
    }

    /// The series of a recording that it applies to: each of its kind, by all expected wake-ups if the file states their
    /// delays, because the missed ones are the late ones.
    pub fn about<'a>(&self, recording: &'a Recording) -> impl Iterator<Item = &'a Series> {
        let kind = self.kind;
        let of_kind = recording
            .series
            .iter()
            .filter(move |series| kind.is_none_or(|kind| kind == series.kind));
        of_kind.map(|series| series.by(Basis::Schedule).unwrap_or(series))
    }
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequirementOutcome {
    /// It holds, as far as a sample of this size can show.
    Held,
    /// It does not.
    Violated,
    /// The file cannot show it.
    NotShown,
}

/// An outcome with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The outcome.
    pub outcome: RequirementOutcome,
    /// The reason, as text.
    pub why: String,
}

/// The minimum number of samples for a statement about a quantile: if the share of samples above the limit were as large
/// as the requirement allows, a run of this size would contain one of them with a probability of 95 %.
#[must_use]
pub fn samples_needed(share: f64) -> u64 {
    whole((RISK.ln() / share.ln()).ceil())
}

/// Checks one series.
#[must_use]
pub fn judge(series: &Series, requirement: &Requirement) -> Judgement {
    let (outcome, why) = match requirement.which {
        BoundedStatistic::Max => judge_max(series, requirement.below_ns),
        BoundedStatistic::Quantile(share) => judge_quantile(series, share, requirement.below_ns),
    };
    Judgement { outcome, why }
}

fn not_shown(why: impl Into<String>) -> (RequirementOutcome, String) {
    (RequirementOutcome::NotShown, why.into())
}

fn judge_max(series: &Series, below_ns: u64) -> (RequirementOutcome, String) {
    let complete = series.overflow == Some(0);
    let last = series
        .buckets
        .last()
        .filter(|_| complete)
        .map(|bucket| (bucket.low_ns, bucket.high_ns()));
    match series.stated_max_ns().or(last) {
        None => not_shown("the file does not contain its largest sample"),
        Some((low, _)) if low >= below_ns => (
            RequirementOutcome::Violated,
            format!("the largest sample is {low} ns or more"),
        ),
        Some((_, high)) if high >= below_ns => not_shown(format!(
            "the largest sample may be {high} ns: the resolution of the file is not higher"
        )),
        Some((_, high)) => (
            RequirementOutcome::Held,
            match series.samples() {
                Some(samples) => format!("the largest of {samples} samples is at most {high} ns"),
                None => format!(
                    "the largest sample is at most {high} ns; the file does not state how many samples there were"
                ),
            },
        ),
    }
}

fn judge_quantile(series: &Series, share: f64, below_ns: u64) -> (RequirementOutcome, String) {
    let missed = match series.kind {
        SeriesKind::Latency => series.missed.unwrap_or(0),
        SeriesKind::Noise => 0,
    };
    let count = series.samples().unwrap_or(0);
    let total = count.saturating_add(missed);
    let needed = samples_needed(share);
    let too_few = || {
        not_shown(format!(
            "too few samples: {total}, and this percentile needs {needed} or more"
        ))
    };
    if count == 0 {
        return not_shown("the file does not contain the number of samples");
    }
    if series.buckets.is_empty() {
        let mut stated = series.stated.quantiles.iter();
        return match stated.find(|(known, _)| (known - share).abs() < 1e-9) {
            None => not_shown("the file has no histogram, and does not contain this percentile"),
            Some((_, value)) if *value >= below_ns => {
                (RequirementOutcome::Violated, format!("the file states {value} ns"))
            }
            Some(_) if total < needed => too_few(),
            Some((_, value)) => (RequirementOutcome::Held, format!("the file states {value} ns")),
        };
    }
    // The nearest rank: the number of samples that may be above it.
    let allowed = total - whole((as_f64(total) * share - 1e-6).ceil()).clamp(1, total);
    let (surely, possibly) = not_below(series, below_ns);
    if surely > allowed {
        let why = format!("{surely} of {total} samples are not below, and only {allowed} may be");
        return (RequirementOutcome::Violated, why);
    }
    if total < needed {
        return too_few();
    }
    if series.overflow.is_none() {
        return not_shown("the file does not contain the number of samples above its histogram");
    }
    if possibly > allowed {
        return not_shown(format!(
            "{possibly} of {total} samples may not be below, and only {allowed} may be: the resolution of the file is \
             not higher"
        ));
    }
    if possibly.saturating_add(missed) > allowed {
        return not_shown(format!("{missed} wake-ups were missed, and their latency is unknown"));
    }
    (
        RequirementOutcome::Held,
        format!("{} of {total} samples are below", count.saturating_sub(possibly)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bucket;

    fn series(buckets: &[(u64, u64)]) -> Series {
        let mut series = Series::new(SeriesKind::Latency);
        series.buckets = buckets
            .iter()
            .map(|(us, count)| Bucket {
                low_ns: us * 1_000,
                width_ns: 1_000,
                count: *count,
            })
            .collect();
        series.overflow = Some(0);
        series
    }

    fn outcome(series: &Series, which: &str, below_us: u64) -> RequirementOutcome {
        judge(series, &Requirement::new("", which, below_us * 1_000).unwrap()).outcome
    }

    #[test]
    fn a_percentile_needs_a_minimum_number_of_samples() {
        assert_eq!(samples_needed(0.99), 299);
        assert_eq!(samples_needed(0.9999), 29_956);
        assert_eq!(outcome(&series(&[(5, 298)]), "p99", 50), RequirementOutcome::NotShown);
        assert_eq!(outcome(&series(&[(5, 299)]), "p99", 50), RequirementOutcome::Held);
        assert_eq!(
            outcome(&series(&[(5, 9), (50, 1)]), "p99", 50),
            RequirementOutcome::Violated
        );
    }

    #[test]
    fn limits_within_a_bucket_cannot_be_decided() {
        let one = series(&[(5, 9_900), (50, 100)]);
        assert_eq!(
            outcome(&one, "p99", 50),
            RequirementOutcome::Held,
            "100 of 10,000 may be above"
        );
        assert_eq!(outcome(&one, "p99.5", 50), RequirementOutcome::Violated);
        let within = Requirement::new("", "p99.5", 50_500).unwrap();
        assert_eq!(judge(&one, &within).outcome, RequirementOutcome::NotShown);
        assert_eq!(outcome(&one, "p99.5", 51), RequirementOutcome::Held);
        assert_eq!(outcome(&one, "max", 51), RequirementOutcome::Held);
        assert_eq!(outcome(&one, "max", 50), RequirementOutcome::Violated);
    }

    #[test]
    fn lost_samples_count_against_a_requirement() {
        let mut one = series(&[(5, 10_000)]);
        one.missed = Some(101);
        assert_eq!(
            outcome(&one, "p99", 50),
            RequirementOutcome::Held,
            "101 of 10,101 are 1 %"
        );
        one.missed = Some(200);
        assert_eq!(outcome(&one, "p99", 50), RequirementOutcome::NotShown);
        one.missed = None;
        one.overflow = Some(200);
        assert_eq!(outcome(&one, "p99", 50), RequirementOutcome::NotShown);
        one.overflow_from_ns = 50_000;
        assert_eq!(outcome(&one, "p99", 50), RequirementOutcome::Violated);
        one.overflow = None;
        assert_eq!(outcome(&one, "p99", 50), RequirementOutcome::NotShown);
        one.buckets.clear();
        assert_eq!(outcome(&one, "p99", 50), RequirementOutcome::NotShown);
        assert_eq!(outcome(&one, "max", 50), RequirementOutcome::NotShown);
    }

    #[test]
    fn invalid_requirements_are_refused_with_a_reason() {
        for (wrong, why) in [
            ("p", "neither `max` nor a percentile"),
            ("p0", "between p0 and p100"),
            ("p100", "between p0 and p100"),
            ("p-1", "neither"),
            ("p+1", "neither"),
            ("pnan", "neither"),
            ("p1e1", "neither"),
            ("p9.9.9", "neither"),
            ("p99,9", "neither"),
            ("99", "neither"),
            ("Max", "neither"),
            ("mean", "neither"),
            ("", "neither"),
            ("wakeups max", "not a kind of measurement"),
            ("max noise", "not a kind of measurement"),
            ("noise noise max", "neither"),
        ] {
            let error = Requirement::new("", wrong, 1).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
        let found = |left: &str| {
            let one = Requirement::new("", left, 1).unwrap();
            (one.kind, one.which)
        };
        assert_eq!(found("p50"), (None, BoundedStatistic::Quantile(0.5)));
        assert_eq!(
            found("latency  p50"),
            (Some(SeriesKind::Latency), BoundedStatistic::Quantile(0.5))
        );
        assert_eq!(found("noise max"), (Some(SeriesKind::Noise), BoundedStatistic::Max));
    }
}
