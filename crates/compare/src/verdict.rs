//! Computes verdicts from repetitions: a permutation test that holds for all questions together, and bootstrap intervals.
//!
//! A quantile of a run has no known distribution, and there are few runs. So only the power uses a table of the normal
//! distribution.
//!
//! The test reassigns the repetitions to the two sets, all questions of one repetition together. A difference counts only
//! when it is larger than the largest of any question in all but 5 % of these permutations (Westfall and Young's step "max
//! T", with each difference in units of its own standard error: Welch's t). So the probability of any false difference is at
//! most 5 %, however many CPUs and quantiles are compared.

use crate::resampling::{ResamplingRng, count, deals, each_deal, mean, values_at, variance};
use crate::verdict::Verdict::{Higher, Lower, NotShown};
use serde::Serialize;

/// The probability of any false difference, over all questions together.
pub const RISK: f64 = 0.05;

/// Up to this number, all permutations are tried; otherwise this many at random.
const DEALS: u64 = 5_000;

/// Number of bootstrap sets for the intervals.
const DRAWS: usize = 2_000;

/// A true difference this many standard errors above the threshold is detected in four of five cases: 0.84 by the normal
/// distribution, more because the error itself is estimated from few runs (`tests/suite/truth.rs` has 80 % and more with 6 to
/// 10 runs).
const FOUR_OF_FIVE: f64 = 1.2;

/// A question that every repetition of both sets answered with a number.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonQuestion {
    /// The answers of the first set, one per repetition.
    pub first: Vec<f64>,
    /// The answers of the other set.
    pub other: Vec<f64>,
    /// The possible error of a number because of its resolution in the file.
    pub resolution: f64,
}

/// The verdict on one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is lower in the other set.
    Lower,
    /// It is higher in the other set.
    Higher,
    /// No difference was shown; this does not prove that there is none.
    NotShown,
}

/// The answer to one question, in the unit of its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonAnswer {
    /// Mean over the repetitions of the first set.
    pub first_mean: f64,
    /// Mean over the repetitions of the other set.
    pub other_mean: f64,
    /// The other mean minus the first.
    pub difference: f64,
    /// The confidence interval of the true difference: the intervals of all questions hold together with 95 %.
    pub interval: [f64; 2],
    /// The probability of such a difference, in any question, where there is none.
    pub p: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// A true difference of this size would be shown in four of five cases.
    pub detectable: f64,
    /// The part of it that more repetitions do not reduce.
    pub resolution: f64,
}

impl ComparisonAnswer {
    /// The factor by which the repetitions must increase to show a difference of that size in four of five cases; `None`
    /// where no number is enough, because the resolution of the values is too coarse.
    #[must_use]
    pub fn times_for(&self, size: f64) -> Option<f64> {
        let room = size - self.resolution;
        (room > 0.0).then(|| ((self.detectable - self.resolution) / room).powi(2))
    }
}

/// Too few repetitions to show anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{first} and {other} repetitions cannot show a difference: at least 4 of each are needed")]
pub struct TooFewRepetitions {
    /// Repetitions of the first set.
    pub first: usize,
    /// Repetitions of the other set.
    pub other: usize,
}

/// Judges all questions together. All must have the same number of answers.
///
/// # Errors
/// [`TooFewRepetitions`] when even the most unlikely permutation is too likely, or when the questions differ in their repetitions.
pub fn judge(questions: &[ComparisonQuestion]) -> Result<Vec<ComparisonAnswer>, TooFewRepetitions> {
    let Some(question) = questions.first() else {
        return Ok(Vec::new());
    };
    let (first, other) = (question.first.len(), question.other.len());
    let too_few = TooFewRepetitions { first, other };
    let is_even = |question: &ComparisonQuestion| question.first.len() == first && question.other.len() == other;
    // With two sets of equal size, a permutation and its mirror are equally far apart.
    let twins = if first == other { 2.0 } else { 1.0 };
    let deals = deals(first, first + other);
    if first < 2 || other < 2 || twins / deals > RISK || !questions.iter().all(is_even) {
        return Err(too_few);
    }
    let seen: Vec<MeanDifference> = questions.iter().map(|of| difference(&of.first, &of.other)).collect();
    let p = unlikely(questions, &seen, deals);
    let critical = critical(questions);
    let answers = questions.iter().zip(seen).zip(p);
    Ok(answers
        .map(|((question, seen), p)| answer(question, &seen, p, critical))
        .collect())
}

fn answer(question: &ComparisonQuestion, seen: &MeanDifference, p: f64, critical: f64) -> ComparisonAnswer {
    let resolution = question.resolution;
    let reach = critical * seen.error + resolution;
    let interval = [seen.size - reach, seen.size + reach];
    let verdict = match interval {
        [low, _] if p <= RISK && low > 0.0 => Higher,
        [_, high] if p <= RISK && high < 0.0 => Lower,
        _ => NotShown,
    };
    ComparisonAnswer {
        first_mean: mean(&question.first),
        other_mean: mean(&question.other),
        difference: seen.size,
        interval,
        p,
        verdict,
        detectable: (critical + FOUR_OF_FIVE) * seen.error + resolution,
        resolution,
    }
}

/// Lower limit of the standard error, as a share of its usual value for the question. Without it, numbers that are mostly the
/// same (a gap of 10 ms in one run of five) would have no variance in many draws, and every difference would be infinitely
/// large.
const LEAST_PART: f64 = 0.25;

/// The other mean minus the first, and its standard error.
#[derive(Clone, Copy)]
struct MeanDifference {
    size: f64,
    error: f64,
}

impl MeanDifference {
    /// Welch's t, without its sign. Without any variance every difference is infinitely many errors.
    fn errors(self, usual: f64) -> f64 {
        match (self.size.abs(), self.error.max(LEAST_PART * usual)) {
            (0.0, _) => 0.0,
            (size, error) => size / error,
        }
    }
}

fn difference(first: &[f64], other: &[f64]) -> MeanDifference {
    let error = |values: &[f64]| variance(values) / count(values);
    MeanDifference {
        size: mean(other) - mean(first),
        error: (error(first) + error(other)).sqrt(),
    }
}

/// For every question, the share of permutations in which any question has as large a difference.
fn unlikely(questions: &[ComparisonQuestion], seen: &[MeanDifference], deals: f64) -> Vec<f64> {
    let all: Vec<Vec<f64>> = questions
        .iter()
        .map(|of| of.first.iter().chain(&of.other).copied().collect())
        .collect();
    let first = questions.first().map_or(0, |of| of.first.len());
    let repetitions = all.first().map_or(0, Vec::len);
    // The same for every permutation, so no permutation is favoured.
    let usual: Vec<f64> = all
        .iter()
        .map(|values| (variance(values) * (1.0 / first as f64 + 1.0 / (repetitions - first) as f64)).sqrt())
        .collect();
    let seen: Vec<f64> = seen
        .iter()
        .zip(&usual)
        .map(|(seen, usual)| seen.errors(*usual))
        .collect();
    let mut as_large = vec![0_u64; seen.len()];
    let mut tried = 0_u64;
    let mut look = |deal: &[usize]| {
        let errors = |(values, usual): (&Vec<f64>, &f64)| dealt(values, deal, first).errors(*usual);
        let largest = all.iter().zip(&usual).map(errors);
        let largest = largest.fold(0.0, f64::max);
        tried += 1;
        for (count, seen) in as_large.iter_mut().zip(&seen) {
            // The same sum in another order may differ in its last digit.
            *count += u64::from(largest >= seen * (1.0 - 1e-9));
        }
    };
    if deals <= DEALS as f64 {
        each_deal(first, repetitions, &mut look);
    } else {
        let mut random = ResamplingRng::default();
        let mut deal: Vec<usize> = (0..repetitions).collect();
        // The observed assignment is one of the permutations.
        look(&deal);
        for _ in 1..DEALS {
            random.shuffle(&mut deal);
            look(&deal);
        }
    }
    as_large.iter().map(|count| *count as f64 / tried as f64).collect()
}

fn dealt(values: &[f64], deal: &[usize], first: usize) -> MeanDifference {
    let of = |places: &[usize]| -> Vec<f64> { places.iter().filter_map(|place| values.get(*place).copied()).collect() };
    let (one, two) = deal.split_at(first.min(deal.len()));
    difference(&of(one), &of(two))
}

/// Half the width of the intervals, in standard errors: 95 % of the bootstrap sets do not exceed it, over all questions
/// together.
fn critical(questions: &[ComparisonQuestion]) -> f64 {
    let centred = |values: &[f64]| -> Vec<f64> {
        let mean = mean(values);
        values.iter().map(|value| value - mean).collect()
    };
    let rest: Vec<(Vec<f64>, Vec<f64>, f64)> = questions
        .iter()
        .map(|of| {
            let usual = difference(&of.first, &of.other).error;
            (centred(&of.first), centred(&of.other), usual)
        })
        .collect();
    let Some((first, other)) = rest.first().map(|(first, other, _)| (first.len(), other.len())) else {
        return 0.0;
    };
    let mut random = ResamplingRng::default();
    let mut largest: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (one, two) = (random.draw(first), random.draw(other));
            let errors = rest.iter().map(|(first, other, usual)| {
                difference(&values_at(first, &one), &values_at(other, &two)).errors(*usual)
            });
            errors.fold(0.0, f64::max)
        })
        .collect();
    largest.sort_unstable_by(f64::total_cmp);
    let place = DRAWS - (DRAWS as f64 * RISK) as usize;
    largest.get(place).copied().unwrap_or(f64::INFINITY)
}
