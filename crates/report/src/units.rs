//! Formats times, percentages and rates for people.

use crate::style::grouped;
use machine::Nanos;

/// A time in the most readable unit; whole units are printed as such (`1 ms`).
pub(crate) fn time(ns: u64) -> String {
    let unit = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match unit
        .into_iter()
        .find(|(scale, _)| ns > 0 && ns.is_multiple_of(*scale) && ns / scale < 1_000)
    {
        Some((scale, name)) => format!("{} {name}", ns / scale),
        None => Nanos(ns).to_string(),
    }
}

/// The same; `-` if there is none.
pub(crate) fn maybe_time(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string())
}

/// A mean in nanoseconds, rounded; `-` if there is none.
pub(crate) fn maybe_mean(ns: Option<f64>) -> String {
    maybe_time(ns.map(|ns| ns.max(0.0).round() as u64))
}

/// A percentage with enough digits to differ from 0.
pub(crate) fn percent(value: f64) -> String {
    match value {
        0.0 => "0 %".to_owned(),
        value if value < 0.01 => format!("{value:.4} %"),
        value => format!("{value:.2} %"),
    }
}

/// A rate with the relevant digits.
pub(crate) fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.1 => format!("{value:.3}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => grouped(value.round() as u64),
    }
}
