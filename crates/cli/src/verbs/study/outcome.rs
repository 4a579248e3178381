//! What the results of a study show: every two cells that differ in one axis, side by side.

use super::directory::Directory;
use super::which_knob;
use crate::screen::Form;
use crate::{CommandError, Screen};
use compare::{Compared, Set, compared};
use formats::Recording;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use study::{Cell, Study};

/// JSON of `study run` and `study report`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    runs: usize,
    done: usize,
    cells: Vec<CellJson<'a>>,
    pairs: Vec<PairJson<'a>>,
}

/// A cell in the JSON of results.
#[derive(Serialize)]
pub struct CellJson<'a> {
    cell: &'a str,
    levels: BTreeMap<String, String>,
    done: usize,
}

#[derive(Serialize)]
struct PairJson<'a> {
    axis: &'a str,
    from: &'a str,
    to: &'a str,
    #[serde(flatten)]
    compared: &'a Compared,
}

/// A pair with what its repetitions show.
struct Shown<'a> {
    axis: &'a str,
    from: &'a str,
    to: &'a str,
    with: Vec<(String, String)>,
    compared: Compared,
}

/// Shows it, and writes the page if one is wanted.
///
/// # Errors
/// Results that are none of this study, or none at all; a page that cannot be written.
pub fn show(directory: &Directory, page: Option<&Path>, screen: &mut Screen) -> Result<(), CommandError> {
    let study = &directory.study;
    let mut results: Vec<Vec<Recording>> = Vec::new();
    for cell in 0..study.cells.len() {
        results.push(
            directory
                .results(cell)?
                .into_iter()
                .map(|(_, recording)| recording)
                .collect(),
        );
    }
    let done: usize = results.iter().map(Vec::len).sum();
    if done == 0 {
        let what = format!("{} has no result yet", directory.name());
        return Err(CommandError::usage(
            what,
            "nothing has run to its end",
            "run `quietcore study run` first",
        ));
    }
    let shown = shown(study, &results);
    let runs = study.cells.len() * study.repetitions;
    let report = Report {
        schema: "quietcore.study/1",
        runs,
        done,
        cells: cells(study, &results),
        pairs: shown
            .iter()
            .map(|one| PairJson {
                axis: one.axis,
                from: one.from,
                to: one.to,
                compared: &one.compared,
            })
            .collect(),
    };
    let rows: Vec<report::study::Row> = shown
        .iter()
        .map(|one| report::study::Row {
            axis: one.axis,
            from: one.from,
            to: one.to,
            with: &one.with,
            compared: &one.compared,
        })
        .collect();
    if let Some(path) = page {
        let cells: Vec<(&str, &[Recording])> = study
            .cells
            .iter()
            .zip(&results)
            .map(|(cell, runs)| (cell.name.as_str(), runs.as_slice()))
            .collect();
        let json = serde_json::to_vec(&report).ok();
        let json_name = path.with_extension("json");
        let page = report::study_html(&report::StudyPage {
            name: &directory.name(),
            done,
            runs,
            cells: &cells,
            rows: &rows,
            json: json.as_deref(),
            json_name: &json_name.file_name().unwrap_or_default().to_string_lossy(),
        });
        root::output::write(path, page.as_bytes())?;
    }
    if !study.which_knob.is_empty() {
        which_knob::answer(directory, &results, screen);
        return Ok(());
    }
    match screen.form {
        Form::Json => screen.json(&report),
        Form::Text => {
            screen.text(&format!("{done} of {runs} runs in {}\n", directory.name()));
            screen.text(&report::study::study_text(&rows, screen.style()));
        }
    }
    Ok(())
}

/// The results of a cell as a set; `None` where there is none.
pub fn set<'a>(study: &Study, results: &'a [Vec<Recording>], place: usize) -> Option<Set<'a>> {
    let runs: Vec<&Recording> = results.get(place)?.iter().collect();
    let name = study.cells.get(place)?.name.clone();
    (!runs.is_empty()).then_some(Set { name, runs })
}

/// What every cell is, and how often it was run.
pub fn cells<'a>(study: &'a Study, results: &[Vec<Recording>]) -> Vec<CellJson<'a>> {
    let one = |(cell, runs): (&'a Cell, &Vec<Recording>)| CellJson {
        cell: &cell.name,
        levels: study.levels_of(cell),
        done: runs.len(),
    };
    study.cells.iter().zip(results).map(one).collect()
}

fn shown<'a>(study: &'a Study, results: &[Vec<Recording>]) -> Vec<Shown<'a>> {
    let set = |place: usize| Some((study.cells.get(place)?, set(study, results, place)?));
    let mut shown = Vec::new();
    for pair in study::pairs(&study.axes, &study.cells) {
        let (Some((first, one)), Some((other, two)), Some(axis)) =
            (set(pair.first), set(pair.other), study.axes.get(pair.axis))
        else {
            continue;
        };
        let level = |cell: &Cell| {
            cell.levels
                .get(pair.axis)
                .and_then(|level| axis.levels.get(*level))
                .map_or("", String::as_str)
        };
        let several = |name: &String| {
            study
                .axes
                .iter()
                .any(|axis| axis.name == *name && axis.levels.len() > 1)
        };
        let with = study
            .levels_of(first)
            .into_iter()
            .filter(|(name, _)| *name != axis.name && several(name));
        shown.push(Shown {
            axis: &axis.name,
            from: level(first),
            to: level(other),
            with: with.collect(),
            compared: compared(&one, &two),
        });
    }
    shown
}
