//! Draws the longest gaps on a terminal: each as a bar of letters, one letter per culprit. Letters work without colours, and in
//! programs that support only ASCII.

use crate::culprit::by;
use crate::report_text::ReportText;
use crate::style::{TextRole, counted, safe};
use crate::units::time;
use ::blame::{CpuAnswer, GapStory};
use machine::OrderBy;

/// Width of a bar in columns.
const BAR: u64 = 66;
/// Number of gaps drawn.
const DRAWN: usize = 3;
/// A column without an event.
const BLANK: char = '.';
/// A column of a culprit without a letter.
const OTHERS: char = '*';
/// One letter per named culprit.
const LETTERS: &str = "ABCDEFGH";

/// Draws the gaps; empty if no gap was kept with its pieces.
pub(crate) fn longest(text: &mut ReportText, cpu: &CpuAnswer) {
    let stories = longest_of(cpu, DRAWN);
    if stories.is_empty() {
        return;
    }
    let title = format!("The longest gaps, from start to end. {}", note(cpu));
    text.wrapped_as(TextRole::Quiet, 2, 2, &title);
    let bars: Vec<Vec<Option<usize>>> = stories
        .iter()
        .map(|story| (0..BAR).map(|column| most_in(story, column)).collect())
        .collect();
    let named = named(&bars);
    for (story, bar) in stories.iter().zip(&bars) {
        let bar: String = bar.iter().map(|row| letter(*row, &named)).collect();
        writeln!(text, "  {:>9} {bar}", time(len(story)));
    }
    let mut legend = |line: &str| text.wrapped_as(TextRole::Quiet, 12, 14, line);
    for (row, letter) in named.iter().zip(LETTERS.chars()) {
        let Some(row) = cpu.interruptions.get(*row) else {
            continue;
        };
        let culprit_name = row
            .culprit
            .as_ref()
            .map_or(String::new(), |culprit| format!(", {}", by(culprit)));
        legend(&format!("{letter} {}{culprit_name}", safe(&row.name)));
    }
    let drawn = |sign: char| bars.iter().flatten().any(|row| letter(*row, &named) == sign);
    if drawn(OTHERS) {
        legend(&format!("{OTHERS} others"));
    }
    if drawn(BLANK) {
        legend(&format!("{BLANK} no event explains it"));
    }
}

/// Why the longest gap differs from the longest interruption of the table, and whether every gap was kept.
pub(crate) fn note(cpu: &CpuAnswer) -> String {
    let drawn = cpu.stories.iter().map(len).max();
    let longest = cpu.interruptions.iter().map(|row| row.max_ns).max();
    // Gaps that did not fit into memory are not among the stories.
    let omission = match longest > drawn && cpu.stories_left_out > 0 {
        false => String::new(),
        true => format!(
            " Details of {} did not fit into memory, and some of these gaps are longer.",
            counted(cpu.stories_left_out as usize, "gap")
        ),
    };
    format!(
        "A gap may contain several interruptions; `longest` in the table is one interruption, without what interrupted \
         it.{omission}"
    )
}

/// Culprits that get a letter: those with the most columns, in order of appearance.
fn named(bars: &[Vec<Option<usize>>]) -> Vec<usize> {
    let mut counts: Vec<(usize, usize)> = Vec::new();
    for row in bars.iter().flatten().flatten() {
        match counts.iter_mut().find(|(known, _)| known == row) {
            Some((_, count)) => *count += 1,
            None => counts.push((*row, 1)),
        }
    }
    let mut most: Vec<(usize, (usize, usize))> = counts.into_iter().enumerate().collect();
    most.order_by_key(|(_, (_, count))| std::cmp::Reverse(*count));
    most.truncate(LETTERS.len());
    most.order_by_key(|(place, _)| *place);
    most.into_iter().map(|(_, (row, _))| row).collect()
}

/// The longest of the kept gaps, longest first.
pub(crate) fn longest_of(cpu: &CpuAnswer, most: usize) -> Vec<&GapStory> {
    let mut all: Vec<&GapStory> = cpu.stories.iter().collect();
    all.order_by_key(|story| (std::cmp::Reverse(len(story)), story.gap.start));
    all.truncate(most);
    all
}

pub(crate) const fn len(story: &GapStory) -> u64 {
    story.gap.end.saturating_sub(story.gap.start)
}

/// The culprit with most of a column's time.
fn most_in(story: &GapStory, column: u64) -> Option<usize> {
    let place = |column: u64| story.gap.start + (u128::from(len(story)) * u128::from(column) / u128::from(BAR)) as u64;
    let (start, end) = (place(column), place(column + 1).max(place(column) + 1));
    let mut sums: Vec<(Option<usize>, u64)> = Vec::new();
    for piece in &story.pieces {
        let part = piece.span.end.min(end).saturating_sub(piece.span.start.max(start));
        match sums.iter_mut().find(|(row, _)| *row == piece.row) {
            Some((_, sum)) => *sum += part,
            None => sums.push((piece.row, part)),
        }
    }
    // The first one of equals.
    sums.iter().rev().max_by_key(|(_, sum)| *sum).and_then(|(row, _)| *row)
}

fn letter(row: Option<usize>, named: &[usize]) -> char {
    let Some(row) = row else {
        return BLANK;
    };
    let at = named.iter().position(|known| *known == row);
    at.and_then(|at| LETTERS.chars().nth(at)).unwrap_or(OTHERS)
}
