//! What the results of a study show: every two cells that differ in one axis, side by side.

use super::directory::{Directory, GivenUp};
use super::which_knob;
use crate::{CommandError, Screen};
use compare::{Compared, Set, compared};
use formats::Recording;
use report::{StudyCell, StudyForm};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use study::heat::{Heat, apart};
use study::{Axis, Cell, Study};
use terminal::Form;

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
    /// The least and the most of the runs of both cells, in thousandths of a degree Celsius, where that may be the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    temperatures_mc: Option<[[i64; 2]; 2]>,
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
    /// How warm the machine was in both, where that may be the reason.
    apart_mc: Option<[[i64; 2]; 2]>,
}

/// The results of a study, and what they show.
pub struct Outcome<'a> {
    directory: &'a Directory,
    /// Of each cell.
    results: Vec<Vec<Recording>>,
    shown: Vec<Shown<'a>>,
    /// Boots whose cells are not possible.
    given_up: Vec<GivenUp>,
}

impl<'a> Outcome<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// Results that are none of this study, or none at all.
    pub fn of(directory: &'a Directory) -> Result<Outcome<'a>, CommandError> {
        let mut results: Vec<Vec<Recording>> = Vec::new();
        for cell in 0..directory.study.cells.len() {
            let runs = directory.results(cell)?.into_iter();
            results.push(runs.map(|(_, recording)| recording).collect());
        }
        if results.iter().all(Vec::is_empty) {
            let what = format!("{} has no result yet", directory.name());
            return Err(CommandError::usage(
                what,
                "nothing has run to its end",
                "run `quietcore study run` first",
            ));
        }
        let shown = shown(&directory.study, &results, &directory.heats()?);
        Ok(Outcome {
            directory,
            results,
            shown,
            given_up: directory.given_up()?,
        })
    }

    /// Shows it.
    pub fn show(&self, screen: &mut Screen) {
        if !self.directory.study.which_knob.is_empty() {
            which_knob::answer(self.directory, &self.results, screen);
            return;
        }
        match screen.form {
            Form::Json => screen.json(&self.json()),
            Form::Text => {
                let (done, runs) = (self.done(), self.runs());
                screen.text(&format!("{done} of {runs} runs in {}\n", self.directory.name()));
                for one in &self.given_up {
                    let (boot, why) = (report::safe(&one.boot), report::safe(&one.why));
                    screen.text(&format!("not possible: boot {boot}: {why}\n"));
                }
                screen.text(&report::study::study_text(&self.rows(), screen.style()));
            }
        }
    }

    /// It in another form, for this file or for none.
    pub fn written(&self, form: StudyForm, path: Option<&Path>) -> String {
        let study = &self.directory.study;
        let cells: Vec<StudyCell> = study
            .cells
            .iter()
            .zip(&self.results)
            .map(|(cell, runs)| StudyCell {
                name: &cell.name,
                levels: levels(study, cell),
                runs: runs.iter().collect(),
            })
            .collect();
        let json = serde_json::to_vec(&self.json()).ok();
        let json_name = path.unwrap_or(Path::new("study")).with_extension("json");
        (form.write)(&report::StudyPage {
            name: &self.directory.name(),
            done: self.done(),
            runs: self.runs(),
            cells: &cells,
            rows: &self.rows(),
            json: json.as_deref(),
            json_name: &json_name.file_name().unwrap_or_default().to_string_lossy(),
        })
    }

    fn done(&self) -> usize {
        self.results.iter().map(Vec::len).sum()
    }

    fn runs(&self) -> usize {
        self.directory.study.cells.len() * self.directory.study.repetitions
    }

    fn json(&self) -> Report<'_> {
        Report {
            schema: "quietcore.study/1",
            runs: self.runs(),
            done: self.done(),
            cells: cells(&self.directory.study, &self.results),
            pairs: self
                .shown
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

    fn rows(&self) -> Vec<report::study::Row<'_>> {
        let rows = self.shown.iter().map(|one| report::study::Row {
            axis: one.axis,
            from: one.from,
            to: one.to,
            with: &one.with,
            apart_mc: one.apart_mc,
            compared: &one.compared,
        });
        rows.collect()
    }
}

/// The level of a cell in each axis, in the order of the axes.
fn levels(study: &Study, cell: &Cell) -> Vec<(String, String)> {
    let levels = study.levels_of(cell);
    let of = |axis: &Axis| Some((axis.name.clone(), levels.get(&axis.name)?.clone()));
    study.axes.iter().filter_map(of).collect()
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

fn shown<'a>(study: &'a Study, results: &[Vec<Recording>], heats: &[Heat]) -> Vec<Shown<'a>> {
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
            apart_mc: apart(heats, &first.name, &other.name),
        });
    }
    shown
}
