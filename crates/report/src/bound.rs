//! Bounds as text, rounded outwards: an upper bound is never printed below its value, a lower bound never above it.
//!
//! `at most 1.2 us` of 1,249 ns would be false. Ordinary values are rounded to the nearest digit (`Nanos`); what is printed
//! as an interval, as "at most" or as "at least" comes from here.

use crate::units::time;
use machine::Nanos;

/// Which way a number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Downwards: a lower bound.
    Lower,
    /// Upwards: an upper bound.
    Upper,
}

/// A time that is at most so long: `1.3 us` of 1,249 ns.
pub(crate) fn at_most(ns: u64) -> String {
    time_bound(ns, Side::Upper)
}

/// A time that is at least so long: `1.2 us` of 1,249 ns.
pub(crate) fn at_least(ns: u64) -> String {
    time_bound(ns, Side::Lower)
}

/// A time rounded to one side. One that needs no rounding is printed as it is: `50 us`.
pub(crate) fn time_bound(ns: u64, side: Side) -> String {
    let rounded = rounded(ns, side);
    match rounded.0 == ns {
        true => time(ns),
        false => rounded.to_string(),
    }
}

/// A time that [`Nanos`] prints without rounding it again, with two significant digits or more.
pub(crate) fn rounded(ns: u64, side: Side) -> Nanos {
    let step = match ns {
        0..1_000 => 1,
        1_000..1_000_000 => 100,
        1_000_000..1_000_000_000 => 100_000,
        _ => 10_000_000,
    };
    let steps = match side {
        Side::Lower => ns / step,
        Side::Upper => ns.div_ceil(step),
    };
    Nanos(steps.saturating_mul(step))
}

/// A number with so many significant digits, rounded to one side.
pub(crate) fn number_bound(value: f64, digits: i32, side: Side) -> String {
    if value <= 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let last_digit = value.log10().floor() as i32 - (digits - 1);
    let scale = |value: f64, places: i32| match places {
        0.. => value * 10_f64.powi(places),
        _ => value / 10_f64.powi(-places),
    };
    let scaled = scale(value, -last_digit);
    // What a division leaves over behind the fifteenth digit is no reason for another step.
    let steps = match side {
        Side::Lower => (scaled + scaled * 1e-14).floor(),
        Side::Upper => (scaled - scaled * 1e-14).ceil(),
    };
    let rounded = scale(steps, last_digit);
    if (0.001..1_000.0).contains(&rounded) {
        // One step up may have made it a digit longer.
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
            assert_eq!(number_bound(value, 2, Side::Upper), text, "{value}");
        }
        let mut value = 1e-12_f64;
        while value < 1e6 {
            let printed = |side| number_bound(value, 2, side).parse::<f64>().unwrap();
            let (least, most) = (printed(Side::Lower), printed(Side::Upper));
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
        assert_eq!(number_bound(3.09, 2, Side::Lower), "3.0");
        assert_eq!(number_bound(3.097, 3, Side::Lower), "3.09");
        assert_eq!(number_bound(0.000_999, 2, Side::Lower), "9.9e-4");
        assert_eq!(number_bound(99.9, 2, Side::Lower), "99");
    }
}
