//! Draws gaps over time, one strip per phase: each line is a moment at which the CPU was taken away, its height the length of the
//! gap (logarithmic), so that a pattern (a tick, a burst) becomes visible.

use super::escape::{html, unit};
use crate::style::counted;
use crate::units::time;
use measure::{Gap, GapLabel, ThreadResult};
use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const STRIP: f64 = 92.0;
const PITCH: f64 = 126.0;

/// Columns of a strip: each shows its longest gap; more detail would not be visible.
const COLUMNS: usize = 562;

/// The gaps of one phase on one CPU.
pub(crate) struct Strip<'a> {
    /// Its CSS class: `before` or `during`.
    pub class: &'static str,
    /// Name before the number of gaps.
    pub name: &'static str,
    /// The thread with the gaps.
    pub thread: &'a ThreadResult,
}

/// Draws one CPU's strips; `None` if no gap was kept in any of them.
pub(crate) fn gaps(cpu: u32, strips: &[Strip]) -> Option<String> {
    let threads = || strips.iter().map(|strip| strip.thread);
    let all = || threads().flat_map(|thread| thread.gaps.iter().flatten());
    let longest = all().map(|gap| gap.duration_ns).max()?;
    let shortest = threads()
        .filter_map(|thread| thread.threshold_ns)
        .min()
        .unwrap_or(1)
        .max(1);
    let window = threads().map(|thread| thread.duration_ns).max()?.max(1);
    let height = strips.iter().map(|_| PITCH).sum::<f64>() + 22.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"g{cpu}-t g{cpu}-d\">\
         <title id=\"g{cpu}-t\">Gaps on CPU {cpu} over time</title>\
         <desc id=\"g{cpu}-d\">One strip per phase over {}; every line is the longest gap of its moment.</desc>\n",
        unit(&time(window))
    );
    let mut top = 22.0;
    for Strip { class, name, thread } in strips {
        let gaps = thread.gaps.as_deref().unwrap_or_default();
        strip(
            &mut svg,
            top,
            class,
            &label(name, thread),
            gaps,
            [shortest, longest, window],
        );
        top += PITCH;
    }
    let _ = write!(
        svg,
        "<g class=\"tick\"><text x=\"{LEFT}\" y=\"{:.1}\">start</text>",
        height - 8.0
    );
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text></g></svg>",
        WIDTH - RIGHT,
        height - 8.0,
        unit(&time(window))
    );
    Some(svg)
}

fn label(name: &str, thread: &ThreadResult) -> String {
    let all = usize::try_from(thread.expected).unwrap_or(usize::MAX);
    let kept = thread.gaps.as_ref().map_or(0, Vec::len);
    let part = if kept < all {
        format!(", {} of them drawn", crate::style::grouped(kept as u64))
    } else {
        String::new()
    };
    format!("{name}: {}{part}", counted(all, "gap"))
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn strip(
    svg: &mut String,
    top: f64,
    class: &str,
    label: &str,
    gaps: &[Gap],
    [shortest, longest, window]: [u64; 3],
) {
    let base = top + STRIP;
    let (low, high) = (
        (shortest as f64).log10(),
        (longest.max(shortest * 10) as f64).log10(),
    );
    let y =
        |ns: u64| base - (((ns.max(1) as f64).log10() - low) / (high - low)).clamp(0.0, 1.0) * (STRIP - 4.0);
    let width = WIDTH - LEFT - RIGHT;
    let _ = write!(
        svg,
        "<rect class=\"strip\" x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{STRIP}\"/>"
    );
    svg.push_str("<g class=\"grid\">");
    for decade in (low.ceil() as u32)..=(high.floor() as u32) {
        let at = y(10_u64.pow(decade.min(19)));
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\"/>",
            WIDTH - RIGHT
        );
    }
    svg.push_str("</g><g class=\"tick\">");
    for decade in (low.ceil() as u32)..=(high.floor() as u32) {
        let value = 10_u64.pow(decade.min(19));
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            y(value) + 4.0,
            unit(&time(value))
        );
    }
    let _ = write!(
        svg,
        "</g><text class=\"name {class}\" x=\"{LEFT}\" y=\"{:.1}\">{}</text>",
        top - 7.0,
        html(label)
    );
    // Two paths: interruptions by others, and kernel work caused only by this sampler.
    for (own, style) in [(false, class), (true, "own")] {
        let mut tallest = vec![0_u64; COLUMNS];
        for gap in gaps.iter().filter(|gap| is_own(gap.label) == own) {
            let place = (gap.at_ns as f64 / window as f64 * COLUMNS as f64) as usize;
            if let Some(column) = tallest.get_mut(place.min(COLUMNS - 1)) {
                *column = (*column).max(gap.duration_ns);
            }
        }
        let mut path = String::new();
        for (column, duration) in tallest.iter().enumerate().filter(|(_, duration)| **duration > 0) {
            let x = LEFT + (column as f64 + 0.5) * width / COLUMNS as f64;
            let _ = write!(path, "M{x:.1} {base:.1}V{:.1}", y(*duration) - 1.0);
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"gaps {style}\" d=\"{path}\"/>");
        }
    }
    svg.push('\n');
}

fn is_own(label: Option<GapLabel>) -> bool {
    match label {
        Some(GapLabel::RtThrottling | GapLabel::FairServer | GapLabel::OwnWakeUp) => true,
        None => false,
    }
}
