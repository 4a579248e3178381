//! Draws small histograms of one thread: its samples and, if it missed wake-ups, next to it all expected wake-ups.

use crate::bins::logarithmic;
use crate::report_text::ReportText;
use crate::style::{TextRole, grouped};
use crate::units::time;
use measure::{MeasurementKind, ThreadResult};

/// The histograms of a thread; empty without samples.
pub(super) fn of_thread(text: &mut ReportText, thread: &ThreadResult) {
    let cpu = thread.cpu;
    // Without missed wake-ups, the schedule equals the samples.
    let schedule = thread.schedule.as_ref().filter(|_| thread.missed > 0);
    let name = match (thread.kind, schedule) {
        (MeasurementKind::Noise, _) => format!("CPU {cpu}, gaps"),
        (_, None) => format!("CPU {cpu}"),
        (_, Some(_)) => format!("CPU {cpu}, as sampled"),
    };
    drawn(text, &name, &thread.histogram);
    if let Some(schedule) = schedule {
        drawn(text, &format!("CPU {cpu}, all expected"), &schedule.histogram);
    }
}

/// Bars on a logarithmic scale in both directions, so that a single late sample is visible.
fn drawn(text: &mut ReportText, name: &str, histogram: &[(u64, u64)]) {
    const BAR: f64 = 40.0;
    let mut bins = logarithmic(histogram, 3);
    if bins.len() > 24 {
        bins = logarithmic(histogram, 1);
    }
    let most = bins.iter().map(|bin| bin.count).max();
    let Some(most) = most else { return };
    let hint = text.paint(TextRole::Quiet, "(bars grow with the logarithm of the count)");
    writeln!(text, "\n  {name}  {hint}");
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
        let bar = match bin.count {
            0 => String::new(),
            count => format!("{} {}", "█".repeat(length(count)), grouped(count)),
        };
        writeln!(text, "  {:>9} .. {:<9} {bar}", time(bin.low_ns), time(bin.high_ns));
    }
}
