//! Shows what was predicted for each cell beside what was measured, misses included.

use crate::recording::sets::name;
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, cut, safe};
use crate::units::{rate, time};
use compare::Number;
use study::which_knob::{CheckedNumber, PredictionCheck};

/// The longest name of a number and its cell on the screen.
const NAME_COLUMNS: usize = 32;

/// The prediction beside the measurements: the stolen time of every cell, and each other number that missed.
#[must_use]
pub fn prediction_check_text(check: &PredictionCheck, style: Style) -> String {
    let mut text = ReportText::new(style);
    writeln!(text);
    let share = format!(
        "Predicted before the runs: {} of {} measurements lie in their ranges, which should contain nine of ten.",
        check.inside, check.measured
    );
    text.wrapped_as(TextRole::Head, 0, 2, &share);
    if let Some(rank_correlation) = check.rank_correlation {
        let line = format!("Rank correlation of the knobs alone, predicted and measured: {rank_correlation:.2}.");
        text.wrapped(0, 2, &line);
    }
    if let Some(first) = &check.first_choice {
        let knob = safe(&first.knob);
        let line = match (first.is_right, first.knob == first.measured_best) {
            (true, true) => format!("First choice: {knob}, which also measured the largest gain."),
            (true, false) => format!("First choice: {knob}, which measured at least nine tenths of the largest gain."),
            _ => format!(
                "First choice: {knob}; {} measured the largest gain.",
                safe(&first.measured_best)
            ),
        };
        text.wrapped(0, 2, &line);
    }
    for note in &check.notes {
        text.wrapped_as(TextRole::Warning, 0, 2, &safe(note));
    }
    writeln!(text);
    let head = row(["predicted", "range", "measured", "inside", "number: cell"]);
    text.painted(TextRole::Quiet, &head);
    for number in &check.numbers {
        let is_miss = number.inside < number.measured.len();
        if number.number == Number::Stolen || is_miss {
            writeln!(text, "{}", line(number));
        }
    }
    text.into_string()
}

fn line(number: &CheckedNumber) -> String {
    let value = |value: f64| match number.number {
        Number::Rate(_) => rate(value),
        _ => time(value.max(0.0).round() as u64),
    };
    let cell = safe(&number.cell);
    row([
        &value(number.predicted.value),
        &format!("{} - {}", value(number.predicted.low), value(number.predicted.high)),
        &value(number.mean),
        &format!("{}/{}", number.inside, number.measured.len()),
        &match number.number {
            Number::Stolen => format!("stolen/s: {cell}"),
            other => format!("{}: {cell}", name(other)),
        },
    ])
}

fn row([predicted, range, measured, inside, cell]: [&str; 5]) -> String {
    format!(
        "{predicted:>9} {range:>19} {measured:>9} {inside:>6}  {}",
        cut(cell, NAME_COLUMNS)
    )
}
