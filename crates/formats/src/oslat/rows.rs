//! Interprets oslat's rows. Rows are named by their upper ends; the assignment of times to rows depends on the version
//! (source: its code, and files of 2.4, 2.6 and 2.10 produced here). 1.x is known from its code only: row
//! `bias + index + 1`, where the index is the time truncated to whole microseconds less the bias, at least 0.

use crate::error::ReadError;
use crate::model::{Rounding, Series};
use crate::tally::{BucketBudget, Tally};

/// How a version treats a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketRule {
    /// 1.x, and up to 2.4: row N microseconds holds values below N and not below the previous row. Extremes are rounded up.
    RoundedUp,
    /// From 2.5: times are rounded up before they are sorted into rows, so all values, extremes too, are one unit too high.
    OneTooHigh,
    /// 2.10: rows as at first, and extremes are truncated.
    Cut,
}

/// Detects the rule of a file. A loop iteration takes far less than a microsecond, so the minimum reveals the rounding.
pub(crate) fn rule(version: Option<&str>, smallest: Option<u64>, first_row_is_used: bool) -> BucketRule {
    let major = version.and_then(|version| version.trim().split_once('.'));
    let at_first = match major {
        Some(("1", _)) => true,
        Some(("2", minor)) => minor.starts_with(['0', '1', '2', '3', '4']),
        _ => false,
    };
    match smallest {
        Some(0) => BucketRule::Cut,
        _ if at_first || first_row_is_used => BucketRule::RoundedUp,
        _ => BucketRule::OneTooHigh,
    }
}

/// The rows of one file.
#[derive(Clone, Copy)]
pub(crate) struct OslatRows {
    pub(crate) rule: BucketRule,
    pub(crate) unit_ns: u64,
    pub(crate) width_ns: u64,
    /// The value that `--bias` subtracts from every time; 0 without it.
    pub(crate) bias_ns: u64,
}

impl OslatRows {
    /// The distance of rows, whose ends are given without the bias: the largest that fits all of them. Empty rows may
    /// be omitted.
    pub(crate) fn width(ends: &[u64], unit_ns: u64) -> u64 {
        let first = ends.first().copied().unwrap_or(0);
        let width = ends.iter().fold(first, |width, end| gcd(width, *end));
        width.max(unit_ns)
    }

    fn shift_ns(self) -> u64 {
        match self.rule {
            BucketRule::RoundedUp | BucketRule::Cut => 0,
            BucketRule::OneTooHigh => self.unit_ns,
        }
    }

    /// The lowest time in the row with this upper end.
    pub(crate) fn low_ns(self, end_ns: u64) -> u64 {
        // With a bias the first row also holds the values below it.
        if self.bias_ns > 0 && end_ns <= self.bias_ns.saturating_add(self.width_ns) {
            return 0;
        }
        end_ns.saturating_sub(self.width_ns + self.shift_ns())
    }

    /// Whether the largest time is above the row with this upper end.
    fn is_above(self, largest_ns: u64, end_ns: u64) -> bool {
        match self.rule {
            BucketRule::RoundedUp => largest_ns > end_ns,
            BucketRule::OneTooHigh | BucketRule::Cut => largest_ns >= end_ns,
        }
    }

    /// Adds the rows of one core to its series. The last row also holds all larger values, unless the maximum shows
    /// that there were none.
    pub(crate) fn fill(self, series: &mut Series, rows: &[(u64, u64)], ended: bool) -> Result<bool, ReadError> {
        let (mut tally, mut room) = (Tally::default(), BucketBudget::default());
        series.rounding = match self.rule {
            BucketRule::RoundedUp | BucketRule::OneTooHigh => Rounding::Up,
            BucketRule::Cut => Rounding::Down,
        };
        series.unit_ns = self.unit_ns;
        for (place, (end_ns, count)) in rows.iter().enumerate() {
            let last = ended && place + 1 == rows.len();
            let within = series.stated.max_ns.is_some_and(|max| !self.is_above(max, *end_ns));
            if last && !within {
                series.overflow = Some(*count);
                series.overflow_from_ns = self.low_ns(*end_ns);
                continue;
            }
            if last {
                series.overflow = Some(0);
            }
            let low_ns = self.low_ns(*end_ns);
            let width_ns = end_ns.saturating_sub(self.shift_ns()).saturating_sub(low_ns);
            if !tally.add(low_ns, width_ns, *count, &mut room)? {
                return Ok(false);
            }
        }
        series.buckets = tally.buckets();
        Ok(true)
    }
}

/// The greatest common divisor.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}
