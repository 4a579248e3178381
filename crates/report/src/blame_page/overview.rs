//! Draws all gaps of a CPU over time as one strip. The longest gap at each position is shown as a tooltip, and by keyboard with
//! the script.

use super::drawing::{LEFT, RIGHT, TOP, WIDTH, kind_of, of_piece};
use crate::blame_picture::len;
use crate::page::escape::{html, unit};
use crate::style::grouped;
use crate::units::time;
use ::blame::{CpuAnswer, Story};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const STRIP: f64 = 92.0;
/// Columns of the strip: each shows its longest gap.
const COLUMNS: usize = 562;
/// Pointer tolerance in columns to both sides, if no other mark is there.
const NEAR: usize = 4;

/// All kept gaps over time: height is the length, colour the main culprit of each.
pub(super) fn overview(page: &mut String, cpu: &CpuAnswer) {
    let gaps = || cpu.stories.iter().map(|story| (story, len(story)));
    let (Some(begin), Some(end)) = (
        gaps().map(|(story, _)| story.gap.start).min(),
        gaps().map(|(story, _)| story.gap.end).max(),
    ) else {
        return;
    };
    let longest = gaps().map(|(_, ns)| ns).max().unwrap_or(1).max(10);
    let shortest = gaps().map(|(_, ns)| ns).min().unwrap_or(1).max(1);
    let window = end.saturating_sub(begin).max(1);
    let (low, high) = (
        (shortest as f64).log10(),
        (longest.max(shortest * 10) as f64).log10(),
    );
    let base = TOP + STRIP;
    let width = WIDTH - LEFT - RIGHT;
    let y =
        |ns: u64| base - (((ns.max(1) as f64).log10() - low) / (high - low)).clamp(0.0, 1.0) * (STRIP - 4.0);
    let _ = write!(
        page,
        "<figure class=\"told\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\"><title>Gaps on CPU {} over {}</title>\
         <rect class=\"strip\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{STRIP}\"/><g class=\"tick\">",
        base + 24.0,
        cpu.cpu,
        unit(&time(window))
    );
    for ns in [shortest, longest] {
        let _ = write!(
            page,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            y(ns) + 4.0,
            unit(&time(ns))
        );
    }
    let _ = write!(
        page,
        "<text x=\"{LEFT}\" y=\"{:.1}\">first gap</text><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text></g>",
        base + 17.0,
        WIDTH - RIGHT,
        base + 17.0,
        unit(&time(window))
    );
    let mut tallest: Vec<Option<(u64, &Story)>> = vec![None; COLUMNS];
    for (story, ns) in gaps() {
        let place = (story.gap.start - begin) as f64 / window as f64 * COLUMNS as f64;
        if let Some(column) = tallest.get_mut((place as usize).min(COLUMNS - 1))
            && column.is_none_or(|(before, _)| before < ns)
        {
            *column = Some((ns, story));
        }
    }
    let drawn = || {
        let columns = tallest.iter().enumerate();
        columns.filter_map(|(column, tallest)| tallest.map(|(ns, story)| (column, ns, story)))
    };
    for kind in ["task", "soft", "irq", "blank"] {
        let mut path = String::new();
        for (column, ns, _) in drawn().filter(|(_, _, story)| most_of(cpu, story) == kind) {
            let x = LEFT + (column as f64 + 0.5) * width / COLUMNS as f64;
            let _ = write!(path, "M{x:.1} {base:.1}V{:.1}", y(ns) - 1.0);
        }
        if !path.is_empty() {
            let _ = write!(page, "<path class=\"gaps {kind}\" d=\"{path}\"/>");
        }
    }
    let mut from = 0;
    let mut after = drawn().skip(1).map(|(column, ..)| column);
    for (column, ns, story) in drawn() {
        // The space between two marks belongs to the nearer one, within the pointer tolerance.
        let between = after.next().map_or(COLUMNS, |next| (column + next).div_ceil(2));
        let (left, right) = (
            from.max(column.saturating_sub(NEAR)),
            between.min(column + 1 + NEAR),
        );
        from = between;
        let _ = write!(
            page,
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{STRIP}\"><title>{}, {} after the first gap, most \
             of it {}</title></rect>",
            LEFT + left as f64 * width / COLUMNS as f64,
            (right - left) as f64 * width / COLUMNS as f64,
            unit(&time(ns)),
            unit(&time(story.gap.start - begin)),
            html(&who(cpu, story))
        );
    }
    page.push_str("</svg><output></output><figcaption>");
    for (kind, what) in [
        ("task", "a thread"),
        ("soft", "a softirq"),
        ("irq", "an interrupt"),
        ("blank", "unexplained"),
    ] {
        let _ = write!(page, "<i class=\"k {kind}\"></i>{what} &#8194;");
    }
    let part = match cpu.stories_left_out {
        0 => String::new(),
        left_out => format!(", {} are not drawn", grouped(left_out)),
    };
    let _ = writeln!(
        page,
        "each line is the longest gap of its moment{part}<span class=\"keys\" hidden>; the arrow keys tell them</span></figcaption></figure>"
    );
}

/// The kind with most time in a gap.
fn most_of(cpu: &CpuAnswer, story: &Story) -> &'static str {
    let sum = |kind: &str| -> u64 {
        let pieces = story.pieces.iter().filter(|piece| kind_of(cpu, piece) == kind);
        pieces.map(|piece| piece.span.end - piece.span.start).sum()
    };
    let kinds = ["blank", "irq", "soft", "task"];
    kinds.into_iter().max_by_key(|kind| sum(kind)).unwrap_or("blank")
}

/// The culprit with most time in a gap: `by kworker/1:2`.
fn who(cpu: &CpuAnswer, story: &Story) -> String {
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
