//! Determines which knobs helped, from all comparisons together.
//!
//! Each comparison holds with 95 % by itself; of twenty, one would be wrong. So a result counts only where it holds over all
//! comparisons together (Holm's step-down of Bonferroni's rule). The rule makes no assumption about how the comparisons
//! depend on each other; they share cells.

use super::KnobQuestion;
use compare::{ComparisonAnswer, Number, RISK, SetComparison, Verdict};
use machine::OrderBy;
use serde::Serialize;

/// The result for one knob.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobAnswer<'a> {
    /// The question.
    #[serde(flatten)]
    pub question: &'a KnobQuestion,
    /// The conclusion from both comparisons.
    pub effect: KnobEffect,
    /// The knob with no other knob.
    #[serde(rename = "alone_shows")]
    pub alone: Option<KnobComparison>,
    /// The knob with the rest of the plan.
    #[serde(rename = "in_plan_shows")]
    pub in_plan: Option<KnobComparison>,
}

/// The effect of a knob on the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KnobEffect {
    /// At least one number is better with it, and none is worse.
    Helped,
    /// At least one number is better with it, and another is worse.
    HelpedAndDidHarm,
    /// No difference was shown; this does not prove that there is none.
    NotShown,
    /// Nothing could be compared, or the results are not meaningful.
    NoVerdict,
    /// At least one number is worse with it, and none is better.
    DidHarm,
}

/// One comparison: without the knob, and with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnobComparison {
    /// What the repetitions of these two cells show by themselves.
    pub compared: SetComparison,
    /// Indexes of the answers that count over all knobs together.
    pub counts: Vec<usize>,
    /// Those of them that are reported but do not affect the verdict: more short gaps where less time is stolen.
    #[serde(rename = "told")]
    pub reported: Vec<usize>,
    /// The probability of its most certain difference if no knob had any effect, over all knobs together.
    pub p: Option<f64>,
}

impl KnobComparison {
    /// The answer to show: the largest relative difference of those that count; otherwise the most certain one.
    #[must_use]
    pub fn headline(&self) -> Option<usize> {
        let share = |place: &usize| self.share(*place).unwrap_or_default().abs();
        let largest = self.judging().max_by(|one, two| share(one).total_cmp(&share(two)));
        let p = |place: &usize| self.answer(*place).map_or(f64::INFINITY, |answer| answer.p);
        let all = 0..self.compared.answers.len();
        largest.or_else(|| all.min_by(|one, two| p(one).total_cmp(&p(two))))
    }

    /// How much higher a number is with the knob, as a share of the larger one: -1 to 1.
    #[must_use]
    pub fn share(&self, place: usize) -> Option<f64> {
        let answer = self.answer(place)?;
        let larger = answer.first_mean.abs().max(answer.other_mean.abs());
        (larger > 0.0).then(|| answer.difference / larger)
    }

    fn answer(&self, place: usize) -> Option<&ComparisonAnswer> {
        self.compared.answers.get(place).map(|(_, answer)| answer)
    }

    fn has(&self, verdict: Verdict) -> bool {
        self.judging()
            .any(|place| self.answer(place).is_some_and(|answer| answer.verdict == verdict))
    }

    /// The answers that count and affect the verdict.
    fn judging(&self) -> impl Iterator<Item = usize> {
        let all = self.counts.iter().copied();
        all.filter(|place| !self.reported.contains(place))
    }

    /// A program that is stopped less has more time in which it can be stopped, and one long gap can become several short
    /// ones. So more gaps of a length are no harm where less time is stolen from the same thread, as long as there are longer
    /// gap lengths and none of those is more frequent.
    fn reported_only(&self) -> Vec<usize> {
        let of = |place: &usize| self.compared.answers.get(*place);
        let is_less_stolen = |thread: &str| {
            self.counts.iter().filter_map(of).any(|(quantity, answer)| {
                let is_stolen = quantity.number == Number::Stolen && quantity.thread == thread;
                is_stolen && answer.verdict == Verdict::Lower
            })
        };
        let is_reported_only = |place: &usize| {
            let Some((quantity, answer)) = of(place) else {
                return false;
            };
            let Number::Rate(length_ns) = quantity.number else {
                return false;
            };
            let longer = || {
                let all = self.compared.answers.iter();
                all.filter(|(other, _)| {
                    other.thread == quantity.thread && matches!(other.number, Number::Rate(ns) if ns > length_ns)
                })
            };
            answer.verdict == Verdict::Higher
                && is_less_stolen(&quantity.thread)
                && longer().next().is_some()
                && longer().all(|(_, longer)| longer.verdict != Verdict::Higher)
        };
        self.counts.iter().copied().filter(is_reported_only).collect()
    }

    fn least_p(&self) -> Option<f64> {
        let all = self.compared.answers.iter().map(|(_, answer)| answer.p);
        all.min_by(f64::total_cmp)
    }
}

impl KnobAnswer<'_> {
    /// The comparisons that exist.
    pub fn sides(&self) -> impl Iterator<Item = &KnobComparison> {
        self.alone.iter().chain(&self.in_plan)
    }

    /// The largest relative reduction of any number; below 0 where the knob only raises numbers.
    #[must_use]
    pub fn gain(&self) -> f64 {
        let shares = self
            .sides()
            .flat_map(|side| side.judging().filter_map(|place| side.share(place)));
        shares.map(|share| -share).max_by(f64::total_cmp).unwrap_or(0.0)
    }
}

/// Answers all questions: the most helpful knob first, knobs that only did harm last. `compared` compares the results of two
/// cells by their indexes; `None` where one of them has no results.
pub fn knob_answers<'a>(
    questions: &'a [KnobQuestion],
    compared: &mut dyn FnMut([usize; 2]) -> Option<SetComparison>,
) -> Vec<KnobAnswer<'a>> {
    let mut side = |pair: Option<[usize; 2]>| -> Option<KnobComparison> {
        Some(KnobComparison {
            compared: compared(pair?)?,
            counts: Vec::new(),
            reported: Vec::new(),
            p: None,
        })
    };
    let mut all: Vec<KnobAnswer> = questions
        .iter()
        .map(|question| KnobAnswer {
            question,
            effect: KnobEffect::NoVerdict,
            alone: side(question.alone),
            in_plan: side(question.in_plan),
        })
        .collect();
    count_together(
        all.iter_mut()
            .flat_map(|one| one.alone.iter_mut().chain(&mut one.in_plan))
            .collect(),
    );
    for one in &mut all {
        one.effect = effect(one);
    }
    // A stable sort: knobs without a shown effect stay in the order of the plan.
    all.order_by(|one, two| {
        let by_effect = one.effect.cmp(&two.effect);
        by_effect.then_with(|| two.gain().total_cmp(&one.gain()))
    });
    all
}

/// The minimum number of repetitions of each cell to show a difference when this many comparisons must hold together. There
/// are `2n` over `n` ways to split `2n` runs into two sets of `n`, and a split and its mirror are equally far apart.
#[must_use]
pub fn least_repetitions(comparisons: usize) -> usize {
    let deals = |runs: usize| (1..=runs).fold(1.0, |deals, place| deals * (runs + place) as f64 / place as f64);
    let is_enough = |runs: &usize| 2.0 / deals(*runs) * comparisons as f64 <= RISK;
    (4..).find(is_enough).unwrap_or(4)
}

fn effect(one: &KnobAnswer) -> KnobEffect {
    let has = |verdict| one.sides().any(|side| side.has(verdict));
    match (has(Verdict::Lower), has(Verdict::Higher)) {
        (true, false) => KnobEffect::Helped,
        (true, true) => KnobEffect::HelpedAndDidHarm,
        (false, true) => KnobEffect::DidHarm,
        _ if one.sides().any(|side| !side.compared.answers.is_empty()) => KnobEffect::NotShown,
        _ => KnobEffect::NoVerdict,
    }
}

/// Marks the answers that hold over all comparisons together.
fn count_together(mut sides: Vec<&mut KnobComparison>) {
    sides.retain(|side| side.least_p().is_some());
    sides.order_by(|one, two| {
        let p = |side: &KnobComparison| side.least_p().unwrap_or(1.0);
        p(one).total_cmp(&p(two))
    });
    let all = sides.len();
    // Holm's p of a comparison is never below that of the previous one.
    let mut before = 0.0_f64;
    for (place, side) in sides.into_iter().enumerate() {
        let times = (all - place) as f64;
        let p = (side.least_p().unwrap_or(1.0) * times).min(1.0).max(before);
        before = p;
        side.p = Some(p);
        if p > RISK {
            continue;
        }
        let counts = |(place, (_, answer)): (usize, &(compare::Quantity, ComparisonAnswer))| {
            (answer.verdict != Verdict::NotShown && answer.p * times <= RISK).then_some(place)
        };
        side.counts = side.compared.answers.iter().enumerate().filter_map(counts).collect();
        side.reported = side.reported_only();
    }
}
