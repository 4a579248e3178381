//! Prints the results of a study about knobs, as text and as JSON.

use super::{CellJson, cells};
use ::study::which_knob::{KnobAnswer, knob_answers, least_repetitions};
use experiment::{StudyOutcome, result_set};
use serde::Serialize;
use terminal::Screen;

/// JSON of the answer.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct KnobAnswerJson<'a> {
    schema: &'static str,
    /// Number of planned runs.
    runs: usize,
    /// Number of finished runs.
    done: usize,
    /// Repetitions that the number of comparisons needs to show any difference.
    least_repetitions: usize,
    /// The conclusion, one sentence each.
    summary: Vec<String>,
    /// The cells.
    cells: Vec<CellJson<'a>>,
    /// The answer for each knob.
    knobs: &'a [KnobAnswer<'a>],
}

/// Evaluates the results of such a study.
pub fn answer(outcome: &StudyOutcome, screen: &mut Screen) {
    let (study, results) = (outcome.study(), &outcome.results);
    let answers = knob_answers(&study.which_knob, &mut |[without, with]| {
        let set = |place| result_set(study, results, place);
        Some(compare::compared(&set(without)?, &set(with)?))
    });
    let pairs = study
        .which_knob
        .iter()
        .flat_map(|question| question.alone.iter().chain(&question.in_plan));
    let least_repetitions = least_repetitions(pairs.count());
    let (runs, done) = (outcome.runs(), outcome.runs_done());
    screen.json(&KnobAnswerJson {
        schema: "quietcore.which-knob/1",
        runs,
        done,
        least_repetitions,
        summary: report::which_knob::summary(&answers),
        cells: cells(study, results),
        knobs: &answers,
    });
    let names: Vec<String> = study.cells.iter().map(|cell| cell.name.clone()).collect();
    let context = report::which_knob::KnobReportContext {
        cells: &names,
        least_repetitions,
        repetitions: results.iter().map(Vec::len).min().unwrap_or_default(),
    };
    screen.text(&format!("{done} of {runs} runs in {}\n", outcome.directory.name()));
    screen.text(&report::which_knob::which_knob_text(&answers, &context, screen.style()));
}
