//! Compares how hot the machine was while cells ran.
//!
//! A processor that becomes too hot lowers its clock, so heat may be the true reason of a difference that is attributed to an
//! axis.

use machine::temperatures::Temperature;
use serde::{Deserialize, Serialize};

/// Difference between the means of two cells that may explain a result, in thousandths of a degree: boards start to lower
/// their clock within a few degrees.
const APART: i64 = 5_000;

/// The hottest sensor before and after a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heat {
    /// The cell.
    pub cell: String,
    /// Which repetition, from 1.
    pub repetition: usize,
    /// Before it.
    pub before: Temperature,
    /// After it.
    pub after: Temperature,
}

impl Heat {
    /// The mean of both, in thousandths of a degree.
    fn middle(&self) -> i64 {
        self.before.millidegrees_c.midpoint(self.after.millidegrees_c)
    }
}

/// The minimum and maximum temperature of the runs of two cells, in thousandths of a degree, where heat may be the reason of
/// a difference: the ranges of both cells do not overlap, and the means differ by 5 degrees. Each cell needs two runs.
#[must_use]
pub fn apart(heats: &[Heat], first: &str, other: &str) -> Option<[[i64; 2]; 2]> {
    let of = |cell: &str| -> Option<([i64; 2], i64)> {
        let all: Vec<i64> = heats
            .iter()
            .filter(|heat| heat.cell == cell)
            .map(Heat::middle)
            .collect();
        let count = i64::try_from(all.len()).ok().filter(|count| *count >= 2)?;
        let range = [*all.iter().min()?, *all.iter().max()?];
        Some((range, all.iter().sum::<i64>() / count))
    };
    let ((first, one), (other, two)) = (of(first)?, of(other)?);
    let is_apart = first[1] < other[0] || other[1] < first[0];
    (is_apart && (one - two).abs() >= APART).then_some([first, other])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heats(cell: &str, all: &[i64]) -> Vec<Heat> {
        let reported = |degrees: i64| Temperature {
            sensor: "cpu-thermal".to_owned(),
            millidegrees_c: degrees * 1_000,
        };
        let heat = |(place, degrees): (usize, &i64)| Heat {
            cell: cell.to_owned(),
            repetition: place + 1,
            before: reported(degrees - 1),
            after: reported(degrees + 1),
        };
        all.iter().enumerate().map(heat).collect()
    }

    #[test]
    fn only_clearly_different_temperatures_are_reported() {
        let reported = |one: &[i64], two: &[i64]| {
            let all = [heats("a", one), heats("b", two)].concat();
            apart(&all, "a", "b")
        };
        assert_eq!(
            reported(&[41, 44], &[66, 62]),
            Some([[41_000, 44_000], [62_000, 66_000]])
        );
        assert!(reported(&[66, 62], &[41, 44]).is_some());
        assert_eq!(reported(&[41, 63], &[66, 62]), None, "one was as warm");
        assert_eq!(reported(&[41, 42], &[44, 45]), None, "three degrees");
        assert_eq!(reported(&[41], &[66]), None, "one run of each");
        assert_eq!(reported(&[], &[66, 62]), None);
    }
}
