//! The results of a study as JSON, as rows of a table, and as a document of another format.

use crate::StudyOutcome;
use compare::SetComparison;
use formats::Recording;
use report::{StudyCell, StudyForm};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use study::{Axis, LevelCombination, Study};

/// JSON of `study run` and `study report`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyOutcomeJson<'a> {
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

/// The results in another format, for this file or for standard output.
#[must_use]
pub fn outcome_document(outcome: &StudyOutcome, form: StudyForm, path: Option<&Path>) -> String {
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
    let json = serde_json::to_vec(&outcome_json(outcome)).ok();
    let json_name = path.unwrap_or(Path::new("study")).with_extension("json");
    (form.write)(&report::StudyPage {
        name: &outcome.directory.name(),
        runs_done: outcome.runs_done(),
        runs: outcome.runs(),
        cells: &cells,
        rows: &outcome_rows(outcome),
        json: json.as_deref(),
        json_name: &json_name.file_name().unwrap_or_default().to_string_lossy(),
    })
}

/// The definition of every cell, and its number of runs.
#[must_use]
pub fn outcome_cells<'a>(study: &'a Study, results: &[Vec<Recording>]) -> Vec<CellJson<'a>> {
    let one = |(cell, runs): (&'a LevelCombination, &Vec<Recording>)| CellJson {
        cell: &cell.name,
        levels: study.levels_of(cell),
        done: runs.len(),
    };
    study.cells.iter().zip(results).map(one).collect()
}

/// The results as JSON.
#[must_use]
pub fn outcome_json<'a>(outcome: &'a StudyOutcome) -> StudyOutcomeJson<'a> {
    StudyOutcomeJson {
        schema: "quietcore.study/1",
        runs: outcome.runs(),
        done: outcome.runs_done(),
        cells: outcome_cells(outcome.study(), &outcome.results),
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

/// The comparisons as rows of a table.
#[must_use]
pub fn outcome_rows<'a>(outcome: &'a StudyOutcome) -> Vec<report::study::PairRow<'a>> {
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
