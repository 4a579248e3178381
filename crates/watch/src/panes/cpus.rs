//! Shows interruptions per second of each CPU, by class, and their history of the last minutes.

use super::Pane;
use crate::rates::{RateColumn, interrupts, of_group, short, softirqs};
use crate::row::{PaneRow, StyledText, Tone, piece};
use crate::spark::{moments_per_column, spark};
use crate::{CpuScope, DisplayData, ViewState};
use machine::CpuId;
use machine::OrderBy;
use plan::Level;
use std::fmt::Write as _;

pub(super) const PANE: Pane = Pane {
    name: "CPUs",
    what: "interruptions per second by class, and their recent history",
    sorts: &["number", "interruptions"],
    head,
    rows,
    empty: "no CPU was counted",
};

/// Columns before the sparkline.
const BEFORE: usize = 10 + 8 * 6 + 1;

fn head(now: &DisplayData, width: usize) -> String {
    let mut text = format!("{:>4} {:5}{:>6}", "CPU", "", "int/s");
    for group in RateColumn::ALL {
        let _ = write!(text, "{:>6}", group.name());
    }
    let _ = write!(text, "{:>6}", "soft");
    if width > BEFORE + 8 {
        let _ = write!(text, "  the last {}", history_span(now));
    }
    text
}

/// The time span of the sparkline.
fn history_span(now: &DisplayData) -> String {
    let seconds = now.duration_ns().saturating_mul(DisplayData::HISTORY as u64) / 1_000_000_000;
    match seconds {
        0 => format!("{} samples", DisplayData::HISTORY),
        1..=90 => format!("{seconds} s"),
        _ => format!("{} min", seconds.saturating_add(30) / 60),
    }
}

/// The state of a CPU, as a word.
pub(crate) fn state(now: &DisplayData, cpu: CpuId) -> (&'static str, Tone) {
    let scene = now.scene;
    match scene.worst(cpu) {
        _ if scene.offline.contains(cpu) => ("off", Tone::Quiet),
        _ if !scene.isolated.contains(cpu) => ("house", Tone::Quiet),
        _ if scene.not_isolated.contains(cpu) => ("OPEN", Tone::Bad),
        Some(Level::Error) => ("ISO!!", Tone::Bad),
        Some(Level::Warning) => ("iso !", Tone::Warning),
        Some(Level::Info) | None => ("iso", Tone::Good),
    }
}

fn rows<'a>(now: &'a DisplayData<'a>, view: &ViewState, sort: usize, width: usize) -> Vec<PaneRow<'a>> {
    let chosen = view.scope;
    let scope = match view.scope {
        // With a single CPU in scope, this pane still lists all.
        CpuScope::One(_) | CpuScope::All => now.all(),
        CpuScope::Isolated => now.scope(CpuScope::Isolated),
    };
    let mut cpus: Vec<(CpuId, Option<f64>)> = scope
        .iter()
        .map(|cpu| (cpu, now.activity(cpu).and_then(|one| now.rate(interrupts(one)))))
        .collect();
    if sort == 1 {
        cpus.order_by(|(a, first), (b, second)| {
            let order = second.unwrap_or(-1.0).total_cmp(&first.unwrap_or(-1.0));
            order.then(a.cmp(b))
        });
    }
    cpus.into_iter()
        .map(|(cpu, rate)| {
            PaneRow::new(cpu.0.to_string(), Some(cpu), move || {
                pieces(now, chosen, cpu, rate, width)
            })
        })
        .collect()
}

fn pieces(now: &DisplayData, chosen: CpuScope, cpu: CpuId, rate: Option<f64>, width: usize) -> StyledText {
    let (word, tone) = state(now, cpu);
    let isolated = now.scene.isolated.contains(cpu);
    let mark = if chosen == CpuScope::One(cpu) { '*' } else { ' ' };
    let number = |rate| piece(format!("{:>6}", short(rate)), loudness(rate, isolated));
    let mut pieces = vec![
        piece(format!("{:>4}{mark}", cpu.0), Tone::Plain),
        piece(format!("{word:5}"), tone),
        number(rate),
    ];
    let activity = now.activity(cpu);
    for group in RateColumn::ALL {
        let rate = activity.and_then(|one| now.rate(of_group(one, group)));
        pieces.push(number(rate));
    }
    let soft = activity.and_then(|one| now.rate(softirqs(one)));
    pieces.push(number(soft));
    let columns = width.saturating_sub(BEFORE + 2);
    if columns >= 8 {
        let past = now.past(cpu);
        let highest = past.iter().filter_map(|(_, rate)| *rate).fold(0.0, f64::max);
        // Each CPU has its own scale: the tick of one would make the rest look quiet.
        let per_column = moments_per_column(columns, DisplayData::HISTORY);
        let line = spark(
            &past,
            columns.min(DisplayData::HISTORY),
            per_column,
            highest,
            now.glyphs,
        );
        pieces.push(piece(format!("  {line}"), Tone::Plain));
    }
    pieces
}

/// On a housekeeping CPU every rate is fine.
fn loudness(rate: Option<f64>, isolated: bool) -> Tone {
    match rate {
        Some(rate) if rate > 0.0 && isolated => Tone::Warning,
        Some(rate) if rate > 0.0 => Tone::Plain,
        _ => Tone::Quiet,
    }
}
