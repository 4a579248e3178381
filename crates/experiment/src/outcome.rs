//! Compares the results of a study: every two cells that differ in one axis, side by side.

use crate::directory::{AbandonedBoot, Directory};
use compare::{Number, RunSet, SetComparison, compared, value};
use formats::{Recording, SeriesKind};
use root::Failure;
use study::heat::{Heat, apart};
use study::which_knob::{CellPredictions, PredictionCheck, prediction_check};
use study::{LevelCombination, Study};

/// Two cells that differ in one axis, and the comparison of their repetitions.
pub struct ComparedPair<'a> {
    /// The axis.
    pub axis: &'a str,
    /// Its level in the first cell.
    pub from: &'a str,
    /// Its level in the second cell.
    pub to: &'a str,
    /// Names and levels of the other axes with several levels.
    pub with: Vec<(String, String)>,
    /// The comparison.
    pub compared: SetComparison,
    /// The lowest and highest temperature of the runs of both cells, in thousandths of a degree Celsius, if that may be the reason.
    pub apart_mc: Option<[[i64; 2]; 2]>,
}

/// The results of a study, and their comparison.
pub struct StudyOutcome<'a> {
    /// Their directory.
    pub directory: &'a Directory,
    /// By cell.
    pub results: Vec<Vec<Recording>>,
    /// Every two cells that differ in one axis.
    pub pairs: Vec<ComparedPair<'a>>,
    /// Abandoned boots.
    pub given_up: Vec<AbandonedBoot>,
    /// The prediction beside the results, if there was one before the runs.
    pub prediction: Option<PredictionCheck>,
    /// Why the prediction cannot be read.
    pub unreadable_prediction: Option<String>,
}

impl<'a> StudyOutcome<'a> {
    /// Reads the results.
    ///
    /// # Errors
    /// Results that do not belong to this study, or no results.
    pub fn of(directory: &'a Directory) -> Result<StudyOutcome<'a>, Failure> {
        let mut results: Vec<Vec<Recording>> = Vec::new();
        for cell in 0..directory.study.cells.len() {
            let runs = directory.results(cell)?.into_iter();
            results.push(runs.map(|(_, recording)| recording).collect());
        }
        if results.iter().all(Vec::is_empty) {
            let what = format!("{} has no result yet", directory.name());
            return Err(Failure::usage(
                what,
                "no run has completed",
                "run `quietcore study run` first",
            ));
        }
        let pairs = pairs(&directory.study, &results, &directory.heats()?);
        let check = |predictions: &CellPredictions| {
            let questions = &directory.study.which_knob;
            prediction_check(predictions, questions, &|cell, number| measured(&results, cell, number))
        };
        // A damaged prediction is no reason to hide the results.
        let (prediction, unreadable_prediction) = match directory.predictions() {
            Ok(predictions) => (predictions.as_ref().map(check), None),
            Err(error) => (None, Some(error.reason())),
        };
        Ok(StudyOutcome {
            prediction,
            unreadable_prediction,
            directory,
            results,
            pairs,
            given_up: directory.given_up()?,
        })
    }

    /// The study.
    #[must_use]
    pub fn study(&self) -> &'a Study {
        &self.directory.study
    }

    /// The number of runs with a result.
    #[must_use]
    pub fn runs_done(&self) -> usize {
        self.results.iter().map(Vec::len).sum()
    }

    /// The number of runs of the study.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.directory.study.cells.len() * self.directory.study.repetitions
    }
}

/// The results of a cell as a set; `None` if it has none.
#[must_use]
pub fn result_set<'a>(study: &Study, results: &'a [Vec<Recording>], place: usize) -> Option<RunSet<'a>> {
    let runs: Vec<&Recording> = results.get(place)?.iter().collect();
    let name = study.cells.get(place)?.name.clone();
    (!runs.is_empty()).then_some(RunSet { name, runs })
}

/// A number of the noise in each run of a cell: the mean of its CPUs.
fn measured(results: &[Vec<Recording>], cell: usize, number: Number) -> Vec<f64> {
    let of_run = |run: &Recording| {
        let noise = run.series.iter().filter(|series| series.kind == SeriesKind::Noise);
        let values: Vec<f64> = noise.filter_map(|series| Some(value(series, number)?.0)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    results.get(cell).into_iter().flatten().filter_map(of_run).collect()
}

fn pairs<'a>(study: &'a Study, results: &[Vec<Recording>], heats: &[Heat]) -> Vec<ComparedPair<'a>> {
    let set = |place: usize| Some((study.cells.get(place)?, result_set(study, results, place)?));
    let mut compared_pairs = Vec::new();
    for pair in study::pairs(&study.axes, &study.cells) {
        let (Some((first, one)), Some((other, two)), Some(axis)) =
            (set(pair.first), set(pair.other), study.axes.get(pair.axis))
        else {
            continue;
        };
        let level = |cell: &LevelCombination| {
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
        compared_pairs.push(ComparedPair {
            axis: &axis.name,
            from: level(first),
            to: level(other),
            with: with.collect(),
            compared: compared(&one, &two),
            apart_mc: apart(heats, &first.name, &other.name),
        });
    }
    compared_pairs
}
