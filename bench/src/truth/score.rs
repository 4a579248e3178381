//! Compares what a tool reported with what was injected. Pure code: numbers in, numbers out.

use super::seen::{DurationBin, ToolReading};
use crate::inject::event::{InjectedDisturbance, SPOILED_NS};

/// A gap may be shorter than usual by at most this much.
const SHORTER_NS: u64 = 10_000;

/// By how much the gap of a disturbance exceeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    /// The usual excess.
    pub(crate) usual_ns: u64,
    /// Maximum additional excess. A longer gap belongs to something else.
    pub(crate) more_ns: u64,
}

/// Signals are delivered on the return to user mode, and a continued thread must first be woken.
pub(crate) const OF_STOPS: Excess = Excess {
    usual_ns: 50_000,
    more_ns: 450_000,
};

/// The excess of preemptions, for two switches that take this time together.
pub(crate) fn of_preemptions(switch_ns: u64) -> Excess {
    Excess {
        usual_ns: switch_ns,
        more_ns: 20_000,
    }
}
/// Twice the resolution of the timestamps in the kernel's text.
const STAMP_NS: u64 = 2_000;
/// A wake-up that is at least this late is one of the injected ones and not ordinary noise.
pub(crate) const LATE_NS: u64 = 200_000;
/// Maximum delay until the sender learns that its interrupt was handled.
const IPI_AROUND_NS: u64 = 20_000;

/// Durations that count as detection of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DurationWindow {
    /// The injected length.
    pub(crate) length_ns: u64,
    /// The usual excess of its gap.
    pub(crate) usual_ns: u64,
    /// The shortest duration inside.
    pub(crate) low_ns: u64,
    /// The first duration above.
    pub(crate) high_ns: u64,
}

/// The window of one of the lengths, around the length plus the cost of switching. It ends half way to the neighbouring
/// lengths. Lengths above those that the tool distinguishes share one window.
pub(crate) fn window(length_ns: u64, lengths_ns: &[u64], excess: Excess, ceiling_ns: Option<u64>) -> DurationWindow {
    let shorter = lengths_ns.iter().filter(|&&other| other < length_ns).max();
    let longer = lengths_ns.iter().filter(|&&other| other > length_ns).min();
    let below = shorter
        .map_or(length_ns, |other| (length_ns - other) / 2)
        .min(SHORTER_NS);
    let above = longer
        .map_or(excess.more_ns, |other| (other - length_ns) / 2)
        .min(excess.more_ns);
    let low_ns = (length_ns + excess.usual_ns).saturating_sub(below);
    let high_ns = length_ns + excess.usual_ns + above;
    match ceiling_ns {
        Some(ceiling_ns) if high_ns > ceiling_ns => DurationWindow {
            length_ns,
            usual_ns: excess.usual_ns,
            low_ns: ceiling_ns,
            high_ns: u64::MAX,
        },
        _ => DurationWindow {
            length_ns,
            usual_ns: excess.usual_ns,
            low_ns,
            high_ns,
        },
    }
}

/// Share of the injected disturbances in a window that the tool counted in addition to those of the control run. `None`
/// if none was injected.
pub(crate) fn recall(
    disturbed: &ToolReading,
    control: &ToolReading,
    events: &[InjectedDisturbance],
    window: DurationWindow,
) -> Option<f64> {
    let is_inside =
        |event: &&InjectedDisturbance| (window.low_ns..window.high_ns).contains(&(event.length_ns() + window.usual_ns));
    let injected = events.iter().filter(is_inside).count();
    let counted = disturbed.within(window.low_ns, window.high_ns) as f64;
    let anyway = control.within(window.low_ns, window.high_ns) as f64 * of_equal_length(disturbed, control);
    (injected > 0).then(|| ((counted - anyway) / injected as f64).clamp(0.0, 1.0))
}

/// Weighted differences between measured and injected durations, from the counts of a window. Counts of the control run
/// have negative weight. `None` for lengths that the tool cannot distinguish.
pub(crate) fn differences(
    disturbed: &ToolReading,
    control: &ToolReading,
    window: DurationWindow,
) -> Option<Vec<(f64, f64)>> {
    if disturbed.ceiling_ns().is_some_and(|ceiling| window.high_ns > ceiling) {
        return None;
    }
    let inside = |bin: &&DurationBin| (window.low_ns..window.high_ns).contains(&bin.low_ns);
    let spread = |seen: &ToolReading, scale: f64| -> Vec<(f64, f64)> {
        let bins = seen.bins.iter().filter(inside);
        bins.flat_map(|bin| across(bin, window.length_ns, scale)).collect()
    };
    let mut all = spread(disturbed, 1.0);
    all.extend(spread(control, -of_equal_length(disturbed, control)));
    Some(all)
}

/// Spreads a bin: its durations can be anywhere inside. Ten equal parts are precise enough for a bin of 1 us.
fn across(bin: &DurationBin, length_ns: u64, scale: f64) -> impl Iterator<Item = (f64, f64)> {
    let width = bin.high_ns.map_or(1, |high| high - bin.low_ns) as f64;
    let parts = if width > 10.0 { 10 } else { 1 };
    let (low, weight) = (bin.low_ns as f64 - length_ns as f64, bin.count as f64 * scale);
    (0..parts).map(move |part| {
        let middle = (f64::from(part) + 0.5) / f64::from(parts) * width;
        let offset = if width <= 1.0 { 0.0 } else { middle };
        (low + offset, weight / f64::from(parts))
    })
}

/// The disturbances of one length that a gap covers, and by how much the gap exceeds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Overlap {
    /// Number of disturbances whose ends are known precisely.
    pub(crate) injected: usize,
    /// Number of those of which one gap covers nine tenths.
    pub(crate) found: usize,
    /// The excess of the gaps in nanoseconds.
    pub(crate) excess_ns: Vec<f64>,
}

/// Compares gaps (in order of time) with the unspoiled disturbances of one length.
pub(crate) fn overlap(gaps: &[(u64, u64)], events: &[InjectedDisturbance], length_ns: u64) -> Overlap {
    let mut result = Overlap::default();
    for event in events
        .iter()
        .filter(|event| event.intended_ns == length_ns && !event.spoiled())
    {
        result.injected += 1;
        let first = gaps.partition_point(|gap| gap.1 <= event.begin_ns);
        let covering = gaps
            .iter()
            .skip(first)
            .take_while(|gap| gap.0 < event.end_ns)
            .find(|gap| {
                let shared = gap.1.min(event.end_ns) - gap.0.max(event.begin_ns);
                shared * 10 >= event.length_ns() * 9
            });
        if let Some(gap) = covering {
            result.found += 1;
            result.excess_ns.push((gap.1 - gap.0) as f64 - event.length_ns() as f64);
        }
    }
    result
}

/// By how much the gaps of disturbances of one length exceed the kernel's own time, from its first event in the gap to
/// its last.
pub(crate) fn beyond_the_kernel(
    gaps: &[(u64, u64)],
    kernel: &[u64],
    events: &[InjectedDisturbance],
    length_ns: u64,
) -> Vec<f64> {
    let of_length = events
        .iter()
        .filter(|event| event.intended_ns == length_ns && !event.spoiled());
    let beyond = |event: &InjectedDisturbance| {
        let at = gaps.partition_point(|gap| gap.1 <= event.begin_ns);
        let gap = gaps
            .get(at)
            .filter(|gap| gap.0 <= event.begin_ns && event.end_ns <= gap.1)?;
        // Both use the same clock, but timestamps are in whole microseconds.
        let from = kernel.partition_point(|stamp| *stamp + STAMP_NS < gap.0);
        let to = kernel.partition_point(|stamp| *stamp <= gap.1 + STAMP_NS);
        let (first, last) = (kernel.get(from)?, kernel.get(to.checked_sub(1)?)?);
        (last > first).then(|| (gap.1 - gap.0) as f64 - (last - first) as f64)
    };
    of_length.filter_map(beyond).collect()
}

/// By how much the gaps of a bare loop exceed preemptions of that length, in nanoseconds.
pub(crate) fn bare_excess_ns(bare: &[InjectedDisturbance], length_ns: u64) -> Vec<f64> {
    let of_length = bare
        .iter()
        .filter(|event| (length_ns..=length_ns + SPOILED_NS).contains(&event.intended_ns));
    of_length
        .map(|event| event.length_ns() as f64 - event.intended_ns as f64)
        .collect()
}

/// Number of interrupts that overlap a gap, by timestamps.
pub(crate) fn count_detected(gaps: &[(u64, u64)], events: &[InjectedDisturbance]) -> usize {
    let meets = |event: &&InjectedDisturbance| {
        let first = gaps.partition_point(|gap| gap.1 <= event.begin_ns);
        gaps.get(first).is_some_and(|gap| gap.0 < event.end_ns + IPI_AROUND_NS)
    };
    events.iter().filter(meets).count()
}

/// Expected number of wake-ups that the disturbances made at least [`LATE_NS`] late. Wake-up times fall into a busy
/// time in proportion to its length, whatever their phase.
pub(crate) fn late_expected(events: &[InjectedDisturbance], interval_ns: u64) -> f64 {
    let late_ns: u64 = events
        .iter()
        .map(|event| event.length_ns().saturating_sub(LATE_NS))
        .sum();
    late_ns as f64 / interval_ns as f64
}

/// Number of late wake-ups that the tool reports, recorded late or counted as missed, minus those of the control run.
pub(crate) fn late_reported(disturbed: &ToolReading, control: &ToolReading) -> f64 {
    let reported = |seen: &ToolReading| (seen.within(LATE_NS, u64::MAX) + seen.missed.unwrap_or(0)) as f64;
    reported(disturbed) - reported(control) * of_equal_length(disturbed, control)
}

/// Number of expected wake-ups that are neither recorded nor reported as missed. Negative if more were reported than
/// expected.
pub(crate) fn unreported(seen: &ToolReading) -> Option<i64> {
    let reported = seen.recorded + seen.missed.unwrap_or(0);
    Some(seen.expected? as i64 - reported as i64)
}

fn of_equal_length(disturbed: &ToolReading, control: &ToolReading) -> f64 {
    disturbed.duration_ns as f64 / (control.duration_ns as f64).max(1.0)
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
