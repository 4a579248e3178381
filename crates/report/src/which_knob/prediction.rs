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

#[cfg(test)]
mod tests {
    use super::*;
    use predict::Estimate;
    use study::which_knob::FirstChoice;

    #[test]
    fn misses_keep_their_number_and_lines_fit_the_screen() {
        let number = |number, value: f64, inside| CheckedNumber {
            cell: "without_transparent_hugepage_defrag-cpu+io".to_owned(),
            number,
            predicted: Estimate {
                value,
                low: value / 2.0,
                high: value * 2.0,
            },
            measured: vec![value, value * 3.0],
            mean: value * 2.0,
            inside,
        };
        let check = PredictionCheck {
            numbers: vec![
                number(Number::Stolen, 8e6, 1),
                number(Number::Rate(10_000), 350.0, 1),
                number(Number::Rate(100_000), 2.0, 2),
            ],
            inside: 4,
            measured: 6,
            rank_correlation: Some(-0.456),
            first_choice: Some(FirstChoice {
                knob: "irq_affinity".to_owned(),
                measured_best: "rq_affinity".to_owned(),
                is_right: false,
            }),
            notes: Vec::new(),
        };
        let text = prediction_check_text(&check, Style::Plain);
        for words in [
            "4 of 6 measurements lie in their ranges",
            "measured: -0.46.",
            "First choice: irq_affinity; rq_affinity measured the largest gain.",
            "     8 ms        4 ms - 16 ms     16 ms    1/2  stolen/s: without_transparent_..",
            "      350           175 - 700       700    1/2  gaps from 10 us: without_trans..",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("100 us"), "it did not miss: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
