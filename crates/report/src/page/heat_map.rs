//! Draws every CPU over time, darker for worse values: unlike drawings of single CPUs, this shows that several were stopped at
//! once, or one after the other. The measurement itself does the binning, so all samples are included, regardless of their number.

use super::text::{Tenths, unit};
use crate::bound::at_most;
use crate::units::time;
use maud::{Markup, html};
use measure::{MeasurementKind, ThreadResult, TimeSeries};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const ROW: f64 = 18.0;
/// Space between two rows.
const SPACE: f64 = 2.0;

/// Maximum number of fields per row: more could not be distinguished, nor hit by a pointer.
const FIELDS: usize = 128;

/// Maximum number of rows; the tables contain the numbers of all CPUs.
pub(crate) const ROWS: usize = 64;

/// The lowest value of each shade, and its name in the legend.
type Shades = [(u64, &'static str); 4];

/// Stolen time, in parts per million.
const STOLEN: Shades = [
    (1, "below 0.1\u{a0}%"),
    (1_000, "to 1\u{a0}%"),
    (10_000, "to 10\u{a0}%"),
    (100_000, "more"),
];

/// Lateness of the latest wake-up, in nanoseconds.
const LATE: Shades = [
    (1, "below 10\u{a0}µs"),
    (10_000, "to 100\u{a0}µs"),
    (100_000, "to 1\u{a0}ms"),
    (1_000_000, "more"),
];

/// Draws the threads of one kind; `None` if no sample has a timestamp.
pub(crate) fn heat_map(kind: MeasurementKind, threads: &[ThreadResult]) -> Option<Markup> {
    let with_times = threads
        .iter()
        .filter_map(|thread| Some((thread, narrowed(kind, thread.over_time.as_ref()?))));
    let rows: Vec<(&ThreadResult, TimeSeries)> = with_times.take(ROWS).collect();
    let window_ns = rows.iter().map(|(thread, _)| thread.duration_ns).max()?.max(1);
    let (id, title, shades, what) = match kind {
        MeasurementKind::Noise => (
            "stolen",
            "Stolen time of every CPU",
            STOLEN,
            "the share of its time that was stolen",
        ),
        MeasurementKind::Latency | MeasurementKind::All => (
            "late",
            "Latest wake-up of every CPU",
            LATE,
            "how late its latest wake-up was",
        ),
    };
    let height = TOP + ROW * rows.len() as f64 + 22.0;
    let end = unit(&time(window_ns));
    Some(html! {
        svg.heat-map viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-labelledby={ (id) "-t " (id) "-d" } {
            title id={ (id) "-t" } { (title) " over time" }
            desc id={ (id) "-d" } { "One row for each CPU over " (end) "; the darker a field, the larger " (what) "." } "\n"
            (legend(&shades))
            @for (place, (thread, over_time)) in rows.iter().enumerate() {
                @let top = TOP + ROW * place as f64;
                text x=(LEFT - 7.0) y=(Tenths(top + ROW - 5.0)) text-anchor="end" { "CPU " (thread.cpu.0) }
                rect.strip x=(LEFT) y=(Tenths(top)) width=(Tenths(WIDTH - LEFT - RIGHT)) height=(Tenths(ROW - SPACE)) {}
                (fields(top, kind, thread, over_time, (window_ns, &shades))) "\n"
            }
            g.tick {
                text x=(LEFT) y=(Tenths(height - 6.0)) { "start" }
                text x=(WIDTH - RIGHT) y=(Tenths(height - 6.0)) text-anchor="end" { (end) }
            }
        } "\n"
    })
}

/// The same with fewer parts, each a whole number of the measurement's own parts.
fn narrowed(kind: MeasurementKind, over_time: &TimeSeries) -> TimeSeries {
    let many = over_time.values_ns.len().div_ceil(FIELDS).max(1);
    let joined = |parts: &[u64]| match kind {
        MeasurementKind::Noise => parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part)),
        MeasurementKind::Latency | MeasurementKind::All => parts.iter().copied().max().unwrap_or(0),
    };
    TimeSeries {
        begins_ns: over_time.begins_ns,
        part_ns: over_time.part_ns.saturating_mul(many as u64),
        values_ns: over_time.values_ns.chunks(many).map(joined).collect(),
    }
}

/// The meaning of the shades, above the rows.
fn legend(shades: &Shades) -> Markup {
    html! {
        g.tick {
            @for (shade, (_, called)) in shades.iter().enumerate() {
                @let left = LEFT + 140.0 * shade as f64;
                rect class={ "heat h" (shade) } x=(left) y="4" width="14" height="11" {}
                text x=(left + 20.0) y="14" { (called) }
            }
        } "\n"
    }
}

fn fields(
    top: f64,
    kind: MeasurementKind,
    thread: &ThreadResult,
    over_time: &TimeSeries,
    (window_ns, shades): (u64, &Shades),
) -> Markup {
    let wide = (WIDTH - LEFT - RIGHT) / window_ns as f64;
    let field = |(place, &value): (usize, &u64)| {
        let from_ns = over_time
            .begins_ns
            .saturating_add(over_time.part_ns.saturating_mul(place as u64));
        // The last part ends after the window, by less than its length.
        let length_ns = over_time.part_ns.min(window_ns.saturating_sub(from_ns));
        let weight = match kind {
            MeasurementKind::Noise => per_million(value, length_ns),
            MeasurementKind::Latency | MeasurementKind::All => value,
        };
        let shade = shades.iter().rposition(|(least, _)| weight >= *least)?;
        Some((shade, value, from_ns, length_ns))
    };
    html! {
        @for (shade, value, from_ns, length_ns) in over_time.values_ns.iter().enumerate().filter_map(field) {
            rect class={ "heat h" (shade) } x=(Tenths(LEFT + wide * from_ns as f64)) y=(Tenths(top))
                width=(Tenths((wide * length_ns as f64).max(0.5))) height=(Tenths(ROW - SPACE)) {
                title {
                    "CPU " (thread.cpu.0) ", from " (unit(&time(from_ns))) ": "
                    @match kind {
                        MeasurementKind::Noise => { (unit(&time(value))) " stolen" }
                        MeasurementKind::Latency | MeasurementKind::All => { (unit(&at_most(value))) " late at most" }
                    }
                }
            }
        }
    }
}

/// At least one if the value is not zero: a gap is never invisible.
fn per_million(part: u64, whole: u64) -> u64 {
    let share = u128::from(part) * 1_000_000 / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX).max(u64::from(part > 0))
}
