//! Prints the results of a study, as text, as JSON and as a document.

pub(crate) mod knob_answer;

use compare::SetComparison;
use experiment::StudyOutcome;
use formats::Recording;
use report::{StudyCell, StudyForm};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use study::{Axis, LevelCombination, Study};
use terminal::Screen;

/// JSON of `study run` and `study report`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StudyOutcomeJson<'a> {
    schema: &'static str,
    /// Number of planned runs.
    runs: usize,
    /// Number of finished runs.
    done: usize,
    /// The cells.
    cells: Vec<CellJson<'a>>,
    /// The comparisons of cells that differ in one axis.
    pairs: Vec<PairJson<'a>>,
}

/// A cell in the JSON of results.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellJson<'a> {
    /// Its name.
    cell: &'a str,
    /// Its level in each axis.
    levels: BTreeMap<String, String>,
    /// Number of its finished runs.
    done: usize,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PairJson<'a> {
    /// The axis in which the two cells differ.
    axis: &'a str,
    /// The level of the first cell.
    from: &'a str,
    /// The level of the other cell.
    to: &'a str,
    /// The minimum and maximum temperature of the runs of both cells, in thousandths of a degree Celsius, where heat may be
    /// the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    temperatures_mc: Option<[[i64; 2]; 2]>,
    #[serde(flatten)]
    compared: &'a SetComparison,
}

/// Prints the results.
pub fn show(outcome: &StudyOutcome, screen: &mut Screen) {
    if !outcome.study().which_knob.is_empty() {
        knob_answer::answer(outcome, screen);
        return;
    }
    screen.json(&json(outcome));
    let (done, runs) = (outcome.runs_done(), outcome.runs());
    screen.text(&format!("{done} of {runs} runs in {}\n", outcome.directory.name()));
    for one in &outcome.given_up {
        let (boot, why) = (report::safe(&one.boot), report::safe(&one.why));
        screen.text(&format!("not possible: boot {boot}: {why}\n"));
    }
    screen.text(&report::study::study_text(&rows(outcome), screen.style()));
}

/// The results in another format, for this file or for standard output.
pub fn document(outcome: &StudyOutcome, form: StudyForm, path: Option<&Path>) -> String {
    let study = outcome.study();
    let cells: Vec<StudyCell> = study
        .cells
        .iter()
        .zip(&outcome.results)
        .map(|(cell, runs)| StudyCell {
            name: &cell.name,
            levels: levels(study, cell),
            runs: runs.iter().collect(),
        })
        .collect();
    let json = serde_json::to_vec(&json(outcome)).ok();
    let json_name = path.unwrap_or(Path::new("study")).with_extension("json");
    (form.write)(&report::StudyPage {
        name: &outcome.directory.name(),
        runs_done: outcome.runs_done(),
        runs: outcome.runs(),
        cells: &cells,
        rows: &rows(outcome),
        json: json.as_deref(),
        json_name: &json_name.file_name().unwrap_or_default().to_string_lossy(),
    })
}

/// The definition of every cell, and its number of runs.
pub fn cells<'a>(study: &'a Study, results: &[Vec<Recording>]) -> Vec<CellJson<'a>> {
    let one = |(cell, runs): (&'a LevelCombination, &Vec<Recording>)| CellJson {
        cell: &cell.name,
        levels: study.levels_of(cell),
        done: runs.len(),
    };
    study.cells.iter().zip(results).map(one).collect()
}

fn json<'a>(outcome: &'a StudyOutcome) -> StudyOutcomeJson<'a> {
    StudyOutcomeJson {
        schema: "quietcore.study/1",
        runs: outcome.runs(),
        done: outcome.runs_done(),
        cells: cells(outcome.study(), &outcome.results),
        pairs: outcome
            .pairs
            .iter()
            .map(|one| PairJson {
                axis: one.axis,
                from: one.from,
                to: one.to,
                temperatures_mc: one.apart_mc,
                compared: &one.compared,
            })
            .collect(),
    }
}

fn rows<'a>(outcome: &'a StudyOutcome) -> Vec<report::study::PairRow<'a>> {
    let rows = outcome.pairs.iter().map(|one| report::study::PairRow {
        axis: one.axis,
        from: one.from,
        to: one.to,
        with: &one.with,
        apart_mc: one.apart_mc,
        compared: &one.compared,
    });
    rows.collect()
}

/// The level of a cell in each axis, in the order of the axes.
fn levels(study: &Study, cell: &LevelCombination) -> Vec<(String, String)> {
    let levels = study.levels_of(cell);
    let of = |axis: &Axis| Some((axis.name.clone(), levels.get(&axis.name)?.clone()));
    study.axes.iter().filter_map(of).collect()
}
