//! Compares what was predicted for each cell with what was measured.

use super::KnobQuestion;
use compare::Number;
use predict::{Estimate, Outcome};
use serde::{Deserialize, Serialize};

/// A first choice is right if it measured at least this share of the largest gain.
const RIGHT_SHARE: f64 = 0.9;

/// What was predicted for the cells, before they ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellPredictions {
    /// By cell, in the order of the study.
    pub cells: Vec<CellPrediction>,
    /// What limits the prediction.
    pub notes: Vec<String>,
}

/// What was predicted for a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellPrediction {
    /// Its name.
    pub cell: String,
    /// Each number with its range.
    pub numbers: Vec<(Number, Estimate)>,
}

impl CellPrediction {
    /// The numbers that a measurement of noise has too, from one or several watches.
    #[must_use]
    pub fn new(cell: &str, watches: &[Outcome]) -> CellPrediction {
        let number = |number: &dyn Fn(&Outcome) -> Option<Estimate>| {
            let estimates: Vec<Estimate> = watches.iter().filter_map(number).collect();
            Estimate::of_watches(&estimates)
        };
        let sizes = watches.first().into_iter().flat_map(|outcome| &outcome.gap_rates);
        // How many short gaps there are depends on the cost of tracing.
        let sizes = sizes.map(|rate| rate.from_ns).filter(|from_ns| *from_ns > 0);
        let rates = sizes.map(|from_ns| (Number::Rate(from_ns), number(&|outcome| outcome.rate(from_ns))));
        let stolen = (Number::Stolen, number(&|outcome| Some(outcome.stolen_ns_per_s)));
        let numbers = std::iter::once(stolen).chain(rates);
        CellPrediction {
            cell: cell.to_owned(),
            numbers: numbers
                .filter_map(|(number, estimate)| Some((number, estimate?)))
                .collect(),
        }
    }
}

/// A prediction beside the measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictionCheck {
    /// Every number of every cell with results.
    pub numbers: Vec<CheckedNumber>,
    /// How many measurements lie in their ranges.
    pub inside: usize,
    /// How many measurements there are. Of those, the ranges should contain nine of ten.
    pub measured: usize,
    /// Spearman's rank correlation of the predicted and the measured gains of the knobs alone, -1 to 1; `null` if either are
    /// all equal.
    pub rank_correlation: Option<f64>,
    /// The knob that was predicted to gain most alone; `null` if no gain was predicted, or none was measured.
    pub first_choice: Option<FirstChoice>,
    /// What limits the prediction.
    pub notes: Vec<String>,
}

/// A number of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedNumber {
    /// The cell.
    pub cell: String,
    /// The number.
    pub number: Number,
    /// The prediction.
    pub predicted: Estimate,
    /// The measurements, by repetition.
    pub measured: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// How many of them lie in the range.
    pub inside: usize,
}

/// The knob that was predicted to gain most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstChoice {
    /// Its name.
    pub knob: String,
    /// The knob that measured the largest gain.
    pub measured_best: String,
    /// Whether the first choice measured at least nine tenths of the largest gain.
    pub is_right: bool,
}

/// The stolen time of a cell, in nanoseconds per second.
struct CellTime {
    predicted: f64,
    /// The width of the predicted range.
    width: f64,
    measured: f64,
}

/// Compares a prediction with the measurements. `measured` returns a number of a cell in each of its runs.
#[must_use]
pub fn prediction_check(
    predictions: &CellPredictions,
    questions: &[KnobQuestion],
    measured: &dyn Fn(usize, Number) -> Vec<f64>,
) -> PredictionCheck {
    let mut numbers = Vec::new();
    let mut times: Vec<Option<CellTime>> = Vec::new();
    for (at, cell) in predictions.cells.iter().enumerate() {
        let mut time = None;
        for (number, predicted) in &cell.numbers {
            let values = measured(at, *number);
            if values.is_empty() {
                continue;
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            if *number == Number::Stolen {
                time = Some(CellTime {
                    predicted: predicted.value,
                    width: predicted.high - predicted.low,
                    measured: mean,
                });
            }
            let is_inside = |value: &&f64| (predicted.low..=predicted.high).contains(*value);
            numbers.push(CheckedNumber {
                cell: cell.cell.clone(),
                number: *number,
                predicted: *predicted,
                inside: values.iter().filter(is_inside).count(),
                measured: values,
                mean,
            });
        }
        times.push(time);
    }
    let gains = gains(questions, &times);
    PredictionCheck {
        inside: numbers.iter().map(|number| number.inside).sum(),
        measured: numbers.iter().map(|number| number.measured.len()).sum(),
        numbers,
        rank_correlation: rank_correlation(&gains),
        first_choice: first_choice(&gains),
        notes: predictions.notes.clone(),
    }
}

/// The gain of a knob alone: predicted and measured stolen time, without it minus with it. A measured difference of less
/// than half the width of the predicted range of either cell counts as none.
fn gains<'a>(questions: &'a [KnobQuestion], times: &[Option<CellTime>]) -> Vec<(&'a str, f64, f64)> {
    let time = |place: usize| times.get(place).and_then(Option::as_ref);
    let gain = |question: &'a KnobQuestion| {
        let [without, with] = question.alone?;
        let (without, with) = (time(without)?, time(with)?);
        let measured = without.measured - with.measured;
        let is_visible = measured.abs() > without.width.max(with.width) / 2.0;
        let measured = if is_visible { measured } else { 0.0 };
        Some((question.knob.as_str(), without.predicted - with.predicted, measured))
    };
    questions.iter().filter_map(gain).collect()
}

fn first_choice(gains: &[(&str, f64, f64)]) -> Option<FirstChoice> {
    let (knob, _, measured) = gains
        .iter()
        .filter(|(_, predicted, _)| *predicted > 0.0)
        .max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))?;
    let (best, _, largest) = gains
        .iter()
        .filter(|(_, _, measured)| *measured > 0.0)
        .max_by(|(_, _, a), (_, _, b)| a.total_cmp(b))?;
    Some(FirstChoice {
        knob: (*knob).to_owned(),
        measured_best: (*best).to_owned(),
        is_right: *measured >= largest * RIGHT_SHARE,
    })
}

/// Spearman's rank correlation: that of Pearson between the ranks, where equal values share the mean of their ranks.
fn rank_correlation(gains: &[(&str, f64, f64)]) -> Option<f64> {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let rank = |value: &f64| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        values.iter().map(rank).collect()
    };
    let predicted = ranks(&gains.iter().map(|gain| gain.1).collect::<Vec<f64>>());
    let measured = ranks(&gains.iter().map(|gain| gain.2).collect::<Vec<f64>>());
    let middle = (gains.len() as f64 - 1.0) / 2.0;
    let product = |one: &[f64], two: &[f64]| -> f64 {
        let pairs = one.iter().zip(two);
        pairs.map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let spread = (product(&predicted, &predicted) * product(&measured, &measured)).sqrt();
    (spread > 0.0).then(|| product(&predicted, &measured) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_shares_ranks_of_equal_values() {
        let gains = |pairs: &[(f64, f64)]| pairs.iter().map(|(one, two)| ("", *one, *two)).collect::<Vec<_>>();
        assert_eq!(
            rank_correlation(&gains(&[(1.0, 2.0), (2.0, 3.0), (9.0, 4.0)])),
            Some(1.0)
        );
        assert_eq!(
            rank_correlation(&gains(&[(1.0, 4.0), (2.0, 3.0), (9.0, 2.0)])),
            Some(-1.0)
        );
        // Ranks 0.5, 0.5, 2 and 0, 1, 2: 1.5 / sqrt(1.5 * 2).
        let tied = rank_correlation(&gains(&[(1.0, 1.0), (1.0, 2.0), (5.0, 3.0)])).unwrap();
        assert!((tied - 1.5 / 3.0_f64.sqrt()).abs() < 1e-12, "{tied}");
        assert_eq!(rank_correlation(&gains(&[(1.0, 1.0), (1.0, 2.0)])), None);
        assert_eq!(rank_correlation(&[]), None);
    }

    #[test]
    fn measurements_are_counted_by_range_and_gains_within_the_range_are_none() {
        let range = |value: f64| Estimate {
            value,
            low: value - 10.0,
            high: value + 10.0,
        };
        let cell = |name: &str, value| CellPrediction {
            cell: name.to_owned(),
            numbers: vec![(Number::Stolen, range(value))],
        };
        let predictions = CellPredictions {
            cells: vec![cell("none", 500.0), cell("bare", 100.0), cell("only_ksm_run", 100.0)],
            notes: Vec::new(),
        };
        let question = |knob: &str, pair| KnobQuestion {
            knob: knob.to_owned(),
            alone: Some(pair),
            in_plan: None,
            needs: Vec::new(),
            along: Vec::new(),
        };
        let questions = [question("cpuset_partition", [0, 1]), question("ksm_run", [1, 2])];
        let checked = |runs: [Vec<f64>; 3]| prediction_check(&predictions, &questions, &|cell, _| runs[cell].clone());
        let good = checked([vec![505.0, 511.0], vec![95.0, 105.0], vec![91.0]]);
        assert_eq!((good.inside, good.measured), (4, 5));
        assert_eq!(good.rank_correlation, Some(1.0));
        assert!(good.first_choice.unwrap().is_right);
        let surprise = checked([vec![505.0], vec![300.0], vec![40.0]]);
        let first = surprise.first_choice.unwrap();
        assert_eq!(
            (first.knob.as_str(), first.measured_best.as_str(), first.is_right),
            ("cpuset_partition", "ksm_run", false)
        );
        // 9 is less than half of the width of 20, and 11 is more.
        let gain = |knob_ns| {
            let checked = checked([vec![100.0], vec![100.0], vec![knob_ns]]);
            checked.first_choice.map(|first| first.measured_best)
        };
        assert_eq!([gain(91.0), gain(89.0)], [None, Some("ksm_run".to_owned())]);
        let unfinished = checked([vec![505.0], Vec::new(), Vec::new()]);
        assert_eq!(
            (
                unfinished.measured,
                unfinished.first_choice,
                unfinished.rank_correlation
            ),
            (1, None, None)
        );
    }
}
