//! Predicts the cells of a study before they run, from a watch of the CPUs without isolation and with the load of the cells.

use crate::cooling;
use crate::forecast::load_cpus;
use crate::runs::{OpenStudy, RunsEnd, ended_load};
use investigate::{PredictionWatch, forecast_partitions};
use measure::load::RunningLoad;
use measure::parse_policy;
use plan::Intent;
use predict::{Outcome, PartitionOutcomes};
use root::Failure;
use std::sync::atomic::Ordering;
use study::which_knob::{CellPrediction, CellPredictions};

/// Predicts all cells and stores that in the directory of the study, unless it is there already or not requested.
///
/// # Errors
/// A study with results but without a prediction; a watch that is impossible or from which nothing can be predicted.
pub(crate) fn store(open: &OpenStudy, runs_done: usize) -> Result<RunsEnd, Failure> {
    let OpenStudy {
        session,
        forecast,
        directory,
        ..
    } = *open;
    if !forecast.is_predicted || directory.predictions()?.is_some() {
        return Ok(RunsEnd::Done);
    }
    if runs_done > 0 {
        return Err(Failure::usage(
            format!("{} was started without a prediction", directory.name()),
            "a prediction that is made after measurements proves nothing",
            "leave --predict out, or choose another directory with --out",
        ));
    }
    session.note(&format!(
        "watching {} times for {} without isolation, to predict each cell\n",
        forecast.study.repetitions,
        machine::duration_text(forecast.study.each)
    ));
    let Some(predictions) = predicted(open)? else {
        return Ok(RunsEnd::Interrupted);
    };
    directory.record_predictions(&predictions)?;
    Ok(RunsEnd::Done)
}

/// Predicts the cells from as many watches as each has runs: a single one does not show what changes from one run to the next.
/// `None` if a signal ended a watch.
fn predicted(open: &OpenStudy) -> Result<Option<CellPredictions>, Failure> {
    let study = &open.forecast.study;
    let intents: Vec<Intent> = study.cells.iter().filter_map(|cell| cell.intent.clone()).collect();
    let mut watches = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for _ in 0..study.repetitions {
        cooling::cool(open.session, study, session::stop_flag());
        if session::stop_flag().load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some((outcomes, limits)) = watched(open, &intents)? else {
            return Ok(None);
        };
        watches.push(outcomes);
        for limit in limits {
            let note = limit.split_whitespace().collect::<Vec<&str>>().join(" ");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let mut partition = 0..;
    let cells = study.cells.iter().map(|cell| {
        let place = cell.intent.as_ref().and_then(|_| partition.next());
        let outcome = |outcomes: &PartitionOutcomes| match place {
            Some(place) => outcomes.partitions.get(place).cloned(),
            None => Some(outcomes.now.clone()),
        };
        let outcomes: Vec<Outcome> = watches.iter().filter_map(outcome).collect();
        CellPrediction::new(&cell.name, &outcomes)
    });
    let cells = cells.collect();
    Ok(Some(CellPredictions { cells, notes }))
}

/// One watch with the load of the cells, and what limits it; `None` if a signal ended it.
fn watched(open: &OpenStudy, intents: &[Intent]) -> Result<Option<(PartitionOutcomes, Vec<String>)>, Failure> {
    let forecast = open.forecast;
    let study = &forecast.study;
    let policy = study.policy.as_ref().map(|policy| parse_policy(&policy.text));
    let watch = PredictionWatch {
        cpus: Some(forecast.cpus.to_string()),
        duration: study.each,
        policy: policy.and_then(Result::ok),
    };
    let kinds = study.cells.first().map_or(&[][..], |cell| &cell.load);
    let load = match kinds.is_empty() {
        true => None,
        false => {
            let cpus = load_cpus(study, &forecast.cpus, None, open.session.root());
            Some(RunningLoad::start(&cpus, kinds)?)
        }
    };
    let predicted = forecast_partitions(&watch, open.session, intents)?;
    ended_load(load, "the machine without isolation")?;
    Ok(predicted)
}
