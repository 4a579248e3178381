//! Draws every CPU over time, darker for worse values: unlike drawings of single CPUs, this shows that several were stopped at
//! once, or one after the other. The measurement itself does the binning, so all samples are included, regardless of their number.

use super::escape::unit;
use crate::bound::at_most;
use crate::units::time;
use measure::{Kind, OverTime, ThreadResult};
use std::fmt::Write as _;

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
pub(crate) fn heat_map(kind: Kind, threads: &[ThreadResult]) -> Option<String> {
    let with_times = threads
        .iter()
        .filter_map(|thread| Some((thread, narrowed(kind, thread.over_time.as_ref()?))));
    let rows: Vec<(&ThreadResult, OverTime)> = with_times.take(ROWS).collect();
    let window_ns = rows.iter().map(|(thread, _)| thread.duration_ns).max()?.max(1);
    let (id, title, shades, what) = match kind {
        Kind::Noise => (
            "stolen",
            "Stolen time of every CPU",
            STOLEN,
            "the share of its time that was stolen",
        ),
        Kind::Latency | Kind::All => (
            "late",
            "Latest wake-up of every CPU",
            LATE,
            "how late its latest wake-up was",
        ),
    };
    let height = TOP + ROW * rows.len() as f64 + 22.0;
    let mut svg = format!(
        "<svg class=\"heat-map\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title \
         id=\"{id}-t\">{title} over time</title><desc id=\"{id}-d\">A row for each CPU over {}; the darker a field, the larger \
         {what}.</desc>\n",
        unit(&time(window_ns))
    );
    legend(&mut svg, &shades);
    for (place, (thread, over_time)) in rows.iter().enumerate() {
        let top = TOP + ROW * place as f64;
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">CPU {}</text><rect class=\"strip\" x=\"{LEFT}\" y=\"{top:.1}\" \
             width=\"{:.1}\" height=\"{:.1}\"/>",
            LEFT - 7.0,
            top + ROW - 5.0,
            thread.cpu.0,
            WIDTH - LEFT - RIGHT,
            ROW - SPACE
        );
        fields(&mut svg, top, kind, thread, over_time, (window_ns, &shades));
        svg.push('\n');
    }
    let _ = writeln!(
        svg,
        "<g class=\"tick\"><text x=\"{LEFT}\" y=\"{:.1}\">start</text><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text></g></svg>",
        height - 6.0,
        WIDTH - RIGHT,
        height - 6.0,
        unit(&time(window_ns))
    );
    Some(svg)
}

/// The same with fewer parts, each a whole number of the measurement's own parts.
fn narrowed(kind: Kind, over_time: &OverTime) -> OverTime {
    let many = over_time.values_ns.len().div_ceil(FIELDS).max(1);
    let joined = |parts: &[u64]| match kind {
        Kind::Noise => parts.iter().fold(0, |sum: u64, part| sum.saturating_add(*part)),
        Kind::Latency | Kind::All => parts.iter().copied().max().unwrap_or(0),
    };
    OverTime {
        begins_ns: over_time.begins_ns,
        part_ns: over_time.part_ns.saturating_mul(many as u64),
        values_ns: over_time.values_ns.chunks(many).map(joined).collect(),
    }
}

/// The meaning of the shades, above the rows.
fn legend(svg: &mut String, shades: &Shades) {
    svg.push_str("<g class=\"tick\">");
    for (shade, (_, called)) in shades.iter().enumerate() {
        let left = LEFT + 140.0 * shade as f64;
        let _ = write!(
            svg,
            "<rect class=\"heat h{shade}\" x=\"{left}\" y=\"4\" width=\"14\" height=\"11\"/><text x=\"{}\" y=\"14\">{called}</text>",
            left + 20.0
        );
    }
    svg.push_str("</g>\n");
}

fn fields(
    svg: &mut String,
    top: f64,
    kind: Kind,
    thread: &ThreadResult,
    over_time: &OverTime,
    (window_ns, shades): (u64, &Shades),
) {
    let wide = (WIDTH - LEFT - RIGHT) / window_ns as f64;
    for (place, &value) in over_time.values_ns.iter().enumerate() {
        let from_ns = over_time
            .begins_ns
            .saturating_add(over_time.part_ns.saturating_mul(place as u64));
        // The last part ends after the window, by less than its length.
        let length_ns = over_time.part_ns.min(window_ns.saturating_sub(from_ns));
        let weight = match kind {
            Kind::Noise => per_million(value, length_ns),
            Kind::Latency | Kind::All => value,
        };
        let Some(shade) = shades.iter().rposition(|(least, _)| weight >= *least) else {
            continue;
        };
        let what = match kind {
            Kind::Noise => format!("{} stolen", unit(&time(value))),
            Kind::Latency | Kind::All => format!("{} late at most", unit(&at_most(value))),
        };
        let _ = write!(
            svg,
            "<rect class=\"heat h{shade}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>CPU {}, from {}: \
             {what}</title></rect>",
            LEFT + wide * from_ns as f64,
            (wide * length_ns as f64).max(0.5),
            ROW - SPACE,
            thread.cpu.0,
            unit(&time(from_ns))
        );
    }
}

/// At least one if the value is not zero: a gap is never invisible.
fn per_million(part: u64, whole: u64) -> u64 {
    let share = u128::from(part) * 1_000_000 / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX).max(u64::from(part > 0))
}
