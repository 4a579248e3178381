//! The statistics that the tables need.

/// 97.5 % quantiles of Student's t distribution for 1, 2, 3, ... degrees of freedom. Beyond the table, 1.96 of the
/// normal distribution is precise enough.
const STUDENT: &[f64] = &[
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The same for 99.75 %: ten intervals of this width all hold together in 95 % of cases.
const STUDENT_OF_TEN: &[f64] = &[
    127.321, 14.089, 7.453, 5.598, 4.773, 4.317, 4.029, 3.833, 3.690, 3.581, 3.497, 3.428, 3.372, 3.326, 3.286, 3.252,
    3.222, 3.197, 3.174, 3.153, 3.135, 3.119, 3.104, 3.091, 3.078, 3.067, 3.057, 3.047, 3.038, 3.030,
];

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConfidenceInterval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The mean of paired differences, one per block. `None` for fewer than two, which have no interval.
pub(crate) fn interval(differences: &[f64]) -> Option<ConfidenceInterval> {
    with_quantiles(differences, STUDENT, 1.96)
}

/// The same for one of ten intervals that are evaluated together. Of ten single 95 % intervals, one is wrong by chance
/// in four of ten benchmarks.
pub(crate) fn interval_of_ten(differences: &[f64]) -> Option<ConfidenceInterval> {
    with_quantiles(differences, STUDENT_OF_TEN, 2.807)
}

fn with_quantiles(differences: &[f64], quantiles: &[f64], beyond: f64) -> Option<ConfidenceInterval> {
    let count = differences.len();
    let mean = mean(differences)?;
    let freedom = count.checked_sub(1).filter(|&freedom| freedom > 0)?;
    let squares: f64 = differences.iter().map(|one| (one - mean).powi(2)).sum();
    let error = (squares / freedom as f64 / count as f64).sqrt();
    let half = quantiles.get(freedom - 1).unwrap_or(&beyond) * error;
    Some(ConfidenceInterval {
        mean,
        low: mean - half,
        high: mean + half,
    })
}

/// `None` for an empty list.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `None` for an empty list.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let weighted: Vec<(f64, f64)> = values.iter().map(|&value| (value, 1.0)).collect();
    quantile(&weighted, 0.5)
}

/// The median and half of its 95 % interval, which follows from the order of the values alone. `None` for fewer than
/// six values.
pub(crate) fn median_within(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len();
    let middle = median(values).filter(|_| count >= 6)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let away = 0.98 * (count as f64).sqrt();
    let at = |rank: f64| sorted.get((rank.max(0.0) as usize).min(count - 1)).copied();
    let half = at(count as f64 / 2.0 + away)? - at(count as f64 / 2.0 - away)?;
    Some((middle, half / 2.0))
}

/// The value below which this share of the weight lies. Weights may be negative, to subtract what a control run also
/// has. `None` if no weight remains.
pub(crate) fn quantile(weighted: &[(f64, f64)], share: f64) -> Option<f64> {
    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return None;
    }
    let mut sorted = weighted.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    for (value, weight) in sorted {
        sum += weight;
        if sum >= total * share {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confidence_interval_of_known_numbers_is_correct() {
        // 1, 2, 3, 4: mean 2.5, standard error 0.6455, 3.182 standard errors to each side.
        let known = interval(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(known.mean, 2.5);
        assert!((known.low - 0.446).abs() < 0.001, "{known:?}");
        assert!((known.high - 4.554).abs() < 0.001, "{known:?}");
        let same = interval(&[0.5; 6]).unwrap();
        assert_eq!((same.low, same.high), (0.5, 0.5));
        let together = interval_of_ten(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((together.high - 7.311).abs() < 0.001, "{together:?}");
        assert_eq!(interval(&[1.0]), None);
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn the_uncertainty_of_a_median_comes_from_order_statistics() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        // Ranks 50 - 9.8 and 50 + 9.8.
        assert_eq!(median_within(&values), Some((49.0, 9.5)));
        assert_eq!(median_within(&[7.0; 6]), Some((7.0, 0.0)));
        assert_eq!(median_within(&[7.0; 5]), None);
    }

    #[test]
    fn weighted_quantiles_subtract_the_control_run() {
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[]), None);
        let seen = [(1.0, 10.0), (2.0, 30.0), (9.0, 60.0)];
        assert_eq!(quantile(&seen, 0.5), Some(9.0));
        let without_control = [(1.0, 10.0), (2.0, 30.0), (9.0, 60.0), (9.0, -50.0)];
        assert_eq!(quantile(&without_control, 0.5), Some(2.0));
        assert_eq!(quantile(&[(1.0, 1.0), (1.0, -1.0)], 0.5), None);
    }
}
