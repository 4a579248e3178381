//! Prints the results of a study about knobs, as text and as JSON.

use ::study::which_knob::{KnobAnswer, PredictionCheck, knob_answers, least_repetitions};
use experiment::{CellJson, StudyOutcome, outcome_cells, result_set};
use report::which_knob::{KnobReportContext, prediction_check_text, summary, which_knob_text};
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
    /// What `--predict` predicted before the runs, beside the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    prediction: Option<&'a PredictionCheck>,
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
        summary: summary(&answers),
        cells: outcome_cells(study, results),
        knobs: &answers,
        prediction: outcome.prediction.as_ref(),
    });
    let names: Vec<String> = study.cells.iter().map(|cell| cell.name.clone()).collect();
    let context = KnobReportContext {
        cells: &names,
        least_repetitions,
        repetitions: results.iter().map(Vec::len).min().unwrap_or_default(),
    };
    screen.text(&format!("{done} of {runs} runs in {}\n", outcome.directory.name()));
    screen.text(&which_knob_text(&answers, &context, screen.style()));
    if let Some(why) = &outcome.unreadable_prediction {
        screen.note(&format!("the prediction is not shown: {why}\n"));
    }
    if let Some(check) = &outcome.prediction {
        screen.text(&prediction_check_text(check, screen.style()));
    }
}
