//! Draws gaps over time, one strip per phase: each line is a moment at which the CPU was taken away, its height the length of the
//! gap (logarithmic), so that a pattern (a tick, a burst) becomes visible.

use super::text::{Tenths, unit};
use crate::style::{counted, safe};
use crate::units::time;
use maud::{Markup, html};
use measure::{GapLabel, MeasuredGap, ThreadResult};
use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
/// Width of the plane.
const PLANE: f64 = WIDTH - LEFT - RIGHT;
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
pub(crate) fn gaps(cpu: u32, strips: &[Strip]) -> Option<Markup> {
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
    let end = unit(&time(window));
    Some(html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-labelledby={ "g" (cpu) "-t g" (cpu) "-d" } {
            title id={ "g" (cpu) "-t" } { "Gaps on CPU " (cpu) " over time" }
            desc id={ "g" (cpu) "-d" } { "One strip per phase over " (end) "; every line is the longest gap at that \
                 point in time." } "\n"
            @for (place, one) in strips.iter().enumerate() {
                (strip(22.0 + PITCH * place as f64, one, [shortest, longest, window]))
            }
            g.tick {
                text x=(LEFT) y=(Tenths(height - 8.0)) { "start" }
                text x=(WIDTH - RIGHT) y=(Tenths(height - 8.0)) text-anchor="end" { (end) }
            }
        } "\n"
    })
}

fn label(name: &str, thread: &ThreadResult) -> String {
    let all = usize::try_from(thread.expected).unwrap_or(usize::MAX);
    let gap_count = thread.gaps.as_ref().map_or(0, Vec::len);
    let part = if gap_count < all {
        format!(", {} of them drawn", crate::style::grouped(gap_count as u64))
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
fn strip(top: f64, one: &Strip, [shortest, longest, window]: [u64; 3]) -> Markup {
    let base = top + STRIP;
    let (low, high) = ((shortest as f64).log10(), (longest.max(shortest * 10) as f64).log10());
    let y = |ns: u64| base - (((ns.max(1) as f64).log10() - low) / (high - low)).clamp(0.0, 1.0) * (STRIP - 4.0);
    let decades = || ((low.ceil() as u32)..=(high.floor() as u32)).map(|decade| 10_u64.pow(decade.min(19)));
    let gaps = one.thread.gaps.as_deref().unwrap_or_default();
    // Two paths: interruptions by others, and kernel work caused only by this sampler.
    let paths = [(false, one.class), (true, "own")].map(|(own, class)| {
        let gaps = gaps.iter().filter(|gap| is_own(gap.label) == own);
        (class, path(gaps, window, |ns| (base, y(ns))))
    });
    html! {
        rect.strip x=(LEFT) y=(top) width=(PLANE) height=(STRIP) {}
        g.grid {
            @for value in decades() {
                line x1=(LEFT) y1=(Tenths(y(value))) x2=(WIDTH - RIGHT) y2=(Tenths(y(value))) {}
            }
        }
        g.tick {
            @for value in decades() {
                text x=(LEFT - 7.0) y=(Tenths(y(value) + 4.0)) text-anchor="end" { (unit(&time(value))) }
            }
        }
        text class={ "name " (one.class) } x=(LEFT) y=(Tenths(top - 7.0)) { (safe(&label(one.name, one.thread))) }
        @for (class, path) in paths.iter().filter(|(_, path)| !path.is_empty()) {
            path class={ "gaps " (class) } d=(path) {}
        }
        "\n"
    }
}

/// The outline of gaps: in each column a line at the longest, from and to where `ends` says for its duration.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn path<'a>(gaps: impl Iterator<Item = &'a MeasuredGap>, window: u64, ends: impl Fn(u64) -> (f64, f64)) -> String {
    let mut tallest = vec![0_u64; COLUMNS];
    for gap in gaps {
        let place = (gap.at_ns as f64 / window as f64 * COLUMNS as f64) as usize;
        if let Some(column) = tallest.get_mut(place.min(COLUMNS - 1)) {
            *column = (*column).max(gap.duration_ns);
        }
    }
    let mut path = String::new();
    for (column, duration) in tallest.iter().enumerate().filter(|(_, duration)| **duration > 0) {
        let x = LEFT + (column as f64 + 0.5) * PLANE / COLUMNS as f64;
        let (base, top) = ends(*duration);
        let _ = write!(path, "M{x:.1} {base:.1}V{:.1}", top - 1.0);
    }
    path
}

fn is_own(label: Option<GapLabel>) -> bool {
    match label {
        Some(GapLabel::RtThrottling | GapLabel::FairServer | GapLabel::OwnWakeUp) => true,
        None => false,
    }
}
