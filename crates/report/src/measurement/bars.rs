//! Draws small histograms of one thread: its samples and, if it missed wake-ups, next to it all expected wake-ups.

use crate::bins::logarithmic;
use crate::style::{Style, TextRole, grouped};
use crate::units::time;
use measure::{MeasurementKind, ThreadResult};
use std::fmt::Write as _;

/// The histograms of a thread; empty without samples.
pub(super) fn of_thread(thread: &ThreadResult, style: Style) -> String {
    let cpu = thread.cpu;
    // Without missed wake-ups, the schedule equals the samples.
    let schedule = thread.schedule.as_ref().filter(|_| thread.missed > 0);
    let name = match (thread.kind, schedule) {
        (MeasurementKind::Noise, _) => format!("CPU {cpu}, gaps"),
        (_, None) => format!("CPU {cpu}"),
        (_, Some(_)) => format!("CPU {cpu}, as sampled"),
    };
    let mut text = drawn(&name, &thread.histogram, style);
    if let Some(schedule) = schedule {
        text.push_str(&drawn(&format!("CPU {cpu}, all expected"), &schedule.histogram, style));
    }
    text
}

/// Bars on a logarithmic scale in both directions, so that a single late sample is visible.
fn drawn(name: &str, histogram: &[(u64, u64)], style: Style) -> String {
    const BAR: f64 = 40.0;
    let mut text = String::new();
    let mut bins = logarithmic(histogram, 3);
    if bins.len() > 24 {
        bins = logarithmic(histogram, 1);
    }
    let Some(most) = bins.iter().map(|bin| bin.count).max() else {
        return text;
    };
    let hint = style.paint(TextRole::Quiet, "(bars grow with the logarithm of the count)");
    let _ = writeln!(text, "\n  {name}  {hint}");
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let length = |count: u64| {
        (((count as f64).ln_1p() / (most as f64).ln_1p()) * BAR)
            .round()
            .max(1.0) as usize
    };
    for bin in &bins {
        let bar = if bin.count == 0 {
            String::new()
        } else {
            "█".repeat(length(bin.count))
        };
        let span = format!("{:>9} .. {:<9}", time(bin.low_ns), time(bin.high_ns));
        let count = if bin.count == 0 {
            String::new()
        } else {
            format!(" {}", grouped(bin.count))
        };
        let _ = writeln!(text, "  {span} {bar}{count}");
    }
    text
}
