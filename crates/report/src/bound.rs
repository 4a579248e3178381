//! Formats bounds as text, rounded outwards: an upper bound is never printed below its value, a lower bound never above it.
//!
//! `at most 1.2 us` for 1,249 ns would be false. Ordinary values are rounded to the nearest digit (`Nanos`); this module
//! formats intervals, "at most" and "at least".

use crate::units::time;
use machine::Nanos;

/// Rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundSide {
    /// Downwards: a lower bound.
    Lower,
    /// Upwards: an upper bound.
    Upper,
}

/// An upper bound of a time: `1.3 us` for 1,249 ns.
pub(crate) fn at_most(ns: u64) -> String {
    time_bound(ns, BoundSide::Upper)
}

/// A lower bound of a time: `1.2 us` for 1,249 ns.
pub(crate) fn at_least(ns: u64) -> String {
    time_bound(ns, BoundSide::Lower)
}

/// A time rounded in one direction. An exact one is printed unchanged: `50 us`.
pub(crate) fn time_bound(ns: u64, side: BoundSide) -> String {
    let rounded = rounded(ns, side);
    match rounded.0 == ns {
        true => time(ns),
        false => rounded.to_string(),
    }
}

/// A time that [`Nanos`] prints without further rounding, with two significant digits or more.
pub(crate) fn rounded(ns: u64, side: BoundSide) -> Nanos {
    let step = match ns {
        0..1_000 => 1,
        1_000..1_000_000 => 100,
        1_000_000..1_000_000_000 => 100_000,
        _ => 10_000_000,
    };
    let steps = match side {
        BoundSide::Lower => ns / step,
        BoundSide::Upper => ns.div_ceil(step),
    };
    Nanos(steps.saturating_mul(step))
}

/// A number with this many significant digits, rounded in one direction.
pub(crate) fn number_bound(value: f64, digits: i32, side: BoundSide) -> String {
    if value <= 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let last_digit = value.log10().floor() as i32 - (digits - 1);
    let scale = |value: f64, places: i32| match places {
        0.. => value * 10_f64.powi(places),
        _ => value / 10_f64.powi(-places),
    };
    let scaled = scale(value, -last_digit);
    // The remainder of a division after the fifteenth digit must not cause another step.
    let steps = match side {
        BoundSide::Lower => (scaled + scaled * 1e-14).floor(),
        BoundSide::Upper => (scaled - scaled * 1e-14).ceil(),
    };
    let rounded = scale(steps, last_digit);
    if (0.001..1_000.0).contains(&rounded) {
        // The step up may have added a digit.
        let last_digit = (rounded * (1.0 + 1e-12)).log10().floor() as i32 - (digits - 1);
        format!("{rounded:.*}", usize::try_from(-last_digit).unwrap_or(0))
    } else {
        let places = usize::try_from(digits - 1).unwrap_or(0);
        format!("{rounded:.places$e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_outwards() {
        for (ns, least, most) in [
            (0, "0 ns", "0 ns"),
            (999, "999 ns", "999 ns"),
            (1_000, "1 us", "1 us"),
            (1_249, "1.2 us", "1.3 us"),
            (1_201, "1.2 us", "1.3 us"),
            (1_960, "1.9 us", "2.0 us"),
            (50_000, "50 us", "50 us"),
            (999_950, "999.9 us", "1.0 ms"),
            (1_000_001, "1.0 ms", "1.1 ms"),
            (16_505_000_000, "16.50 s", "16.51 s"),
            (12_012_000_000, "12.01 s", "12.02 s"),
        ] {
            assert_eq!(at_least(ns), least, "{ns}");
            assert_eq!(at_most(ns), most, "{ns}");
        }
        assert!(at_most(u64::MAX).ends_with(" s"));
    }

    #[test]
    fn an_upper_bound_is_never_printed_below_itself() {
        for (value, text) in [
            (0.001_497, "0.0015"),
            (0.001_5, "0.0015"),
            (0.001_501, "0.0016"),
            (0.000_999, "0.0010"),
            (0.000_123_1, "1.3e-4"),
            (0.0995, "0.10"),
            (3.0, "3.0"),
            (3.01, "3.1"),
            (42.1, "43"),
            (421.0, "430"),
            (1_234.0, "1.3e3"),
            (0.0, "0"),
        ] {
            assert_eq!(number_bound(value, 2, BoundSide::Upper), text, "{value}");
        }
        let mut value = 1e-12_f64;
        while value < 1e6 {
            let printed = |side| number_bound(value, 2, side).parse::<f64>().unwrap();
            let (least, most) = (printed(BoundSide::Lower), printed(BoundSide::Upper));
            assert!(
                most >= value * (1.0 - 1e-12) && most <= value * 1.11,
                "{value} is printed as {most}"
            );
            assert!(
                least <= value * (1.0 + 1e-12) && least >= value * 0.9,
                "{value} is printed as {least}"
            );
            value *= 1.003_7;
        }
    }

    #[test]
    fn a_lower_bound_is_never_printed_above_itself() {
        assert_eq!(number_bound(3.09, 2, BoundSide::Lower), "3.0");
        assert_eq!(number_bound(3.097, 3, BoundSide::Lower), "3.09");
        assert_eq!(number_bound(0.000_999, 2, BoundSide::Lower), "9.9e-4");
        assert_eq!(number_bound(99.9, 2, BoundSide::Lower), "99");
    }
}
