//! Draws all gaps of a CPU over time as one strip. The longest gap at each position is shown as a tooltip, and by keyboard with
//! the script.

use super::drawing::{LEFT, RIGHT, TOP, WIDTH, kind_of, of_piece};
use crate::blame_picture::len;
use crate::page::text::{Tenths, unit};
use crate::style::{grouped, safe};
use crate::units::time;
use ::blame::{CpuAnswer, GapStory};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const STRIP: f64 = 92.0;
const BASE: f64 = TOP + STRIP;
/// Width of the plane.
const PLANE: f64 = WIDTH - LEFT - RIGHT;
/// Columns of the strip: each shows its longest gap.
const COLUMNS: usize = 562;
/// Pointer tolerance in columns to both sides, if no other mark is there.
const NEAR: usize = 4;

/// All kept gaps over time: height is the length, colour the main culprit of each.
pub(super) fn overview(cpu: &CpuAnswer) -> Markup {
    let gaps = || cpu.stories.iter().map(|story| (story, len(story)));
    let (Some(begin), Some(end)) = (
        gaps().map(|(story, _)| story.gap.start).min(),
        gaps().map(|(story, _)| story.gap.end).max(),
    ) else {
        return Markup::default();
    };
    let longest = gaps().map(|(_, ns)| ns).max().unwrap_or(1).max(10);
    let shortest = gaps().map(|(_, ns)| ns).min().unwrap_or(1).max(1);
    let window = end.saturating_sub(begin).max(1);
    let (low, high) = ((shortest as f64).log10(), (longest.max(shortest * 10) as f64).log10());
    let y = |ns: u64| BASE - (((ns.max(1) as f64).log10() - low) / (high - low)).clamp(0.0, 1.0) * (STRIP - 4.0);
    let columns = columns(cpu, begin, window);
    html! {
        figure.readout {
            svg viewBox={ "0 0 " (WIDTH) " " (BASE + 24.0) } role="img" {
                title { "Gaps on CPU " (cpu.cpu) " over " (unit(&time(window))) }
                rect.strip x=(LEFT) y=(TOP) width=(PLANE) height=(STRIP) {}
                g.tick {
                    @for ns in [shortest, longest] {
                        text x=(LEFT - 7.0) y=(Tenths(y(ns) + 4.0)) text-anchor="end" { (unit(&time(ns))) }
                    }
                    text x=(LEFT) y=(Tenths(BASE + 17.0)) { "first gap" }
                    text x=(WIDTH - RIGHT) y=(Tenths(BASE + 17.0)) text-anchor="end" { (unit(&time(window))) }
                }
                @for kind in ["task", "soft", "irq", "blank"] {
                    @let of_kind = columns.iter().filter(|one| most_of(cpu, one.story) == kind);
                    @let path = path(of_kind, y);
                    @if !path.is_empty() { path class={ "gaps " (kind) } d=(path) {} }
                }
                (marks(cpu, begin, &columns))
            }
            output {}
            (caption(cpu))
        } "\n"
    }
}

/// The longest gap at one position.
struct Column<'a> {
    place: usize,
    ns: u64,
    story: &'a GapStory,
}

/// The positions with a gap, in order.
fn columns(cpu: &CpuAnswer, begin: u64, window: u64) -> Vec<Column<'_>> {
    let mut tallest: BTreeMap<usize, Column> = BTreeMap::new();
    for story in &cpu.stories {
        let place = (story.gap.start - begin) as f64 / window as f64 * COLUMNS as f64;
        let (place, ns) = ((place as usize).min(COLUMNS - 1), len(story));
        if tallest.get(&place).is_none_or(|column| column.ns < ns) {
            tallest.insert(place, Column { place, ns, story });
        }
    }
    tallest.into_values().collect()
}

fn path<'a>(columns: impl Iterator<Item = &'a Column<'a>>, y: impl Fn(u64) -> f64) -> String {
    let mut path = String::new();
    for column in columns {
        let x = LEFT + (column.place as f64 + 0.5) * PLANE / COLUMNS as f64;
        let _ = write!(path, "M{x:.1} {BASE:.1}V{:.1}", y(column.ns) - 1.0);
    }
    path
}

/// What shows the gaps to the pointer and the keyboard. The space between two marks belongs to the nearer one, within the
/// pointer tolerance.
fn marks(cpu: &CpuAnswer, begin: u64, columns: &[Column]) -> Markup {
    let middle = |two: &[Column]| (two[0].place + two[1].place).div_ceil(2);
    let between: Vec<usize> = columns.windows(2).map(middle).collect();
    let starts = std::iter::once(0).chain(between.iter().copied());
    let ends = between.iter().copied().chain([COLUMNS]);
    html! {
        @for (column, (start, end)) in columns.iter().zip(starts.zip(ends)) {
            @let left = start.max(column.place.saturating_sub(NEAR));
            @let right = end.min(column.place + 1 + NEAR);
            rect.mark x=(Tenths(LEFT + left as f64 * PLANE / COLUMNS as f64)) y=(TOP)
                width=(Tenths((right - left) as f64 * PLANE / COLUMNS as f64)) height=(STRIP) {
                title {
                    (unit(&time(column.ns))) ", " (unit(&time(column.story.gap.start - begin))) " after the first gap, \
                         mostly "
                    (safe(&culprit_text(cpu, column.story)))
                }
            }
        }
    }
}

fn caption(cpu: &CpuAnswer) -> Markup {
    let kinds = [
        ("task", "a thread"),
        ("soft", "a softirq"),
        ("irq", "an interrupt"),
        ("blank", "unexplained"),
    ];
    html! {
        figcaption {
            @for (kind, what) in kinds { i class={ "k " (kind) } {} (what) " \u{2002}" }
            "each line is the longest gap at that point in time"
            @if cpu.stories_left_out > 0 { ", " (grouped(cpu.stories_left_out)) " are not drawn" }
            span.keys hidden { "; the arrow keys show their details" }
        }
    }
}

/// The kind with most time in a gap.
fn most_of(cpu: &CpuAnswer, story: &GapStory) -> &'static str {
    let sum = |kind: &str| -> u64 {
        let pieces = story.pieces.iter().filter(|piece| kind_of(cpu, piece) == kind);
        pieces.map(|piece| piece.span.end - piece.span.start).sum()
    };
    let kinds = ["blank", "irq", "soft", "task"];
    kinds.into_iter().max_by_key(|kind| sum(kind)).unwrap_or("blank")
}

/// The culprit with most time in a gap: `by kworker/1:2`.
fn culprit_text(cpu: &CpuAnswer, story: &GapStory) -> String {
    let mut sums: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for piece in &story.pieces {
        let name = of_piece(cpu, piece).map(|row| row.name.as_str());
        *sums.entry(name).or_default() += piece.span.end - piece.span.start;
    }
    match sums.into_iter().max_by_key(|(_, ns)| *ns) {
        Some((Some(name), _)) => format!("by {name}"),
        _ => "unexplained".to_owned(),
    }
}
