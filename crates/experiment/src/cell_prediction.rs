//! Predicts the cells of a study before they run, from a watch of the CPUs without isolation and with the load of the cells.

use crate::forecast::load_cpus;
use crate::runs::{OpenStudy, RunsEnd, ended_load};
use investigate::{PredictionWatch, forecast_partitions};
use measure::load::RunningLoad;
use measure::parse_policy;
use plan::Intent;
use root::Failure;
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
    let study = &forecast.study;
    let intents: Vec<Intent> = study.cells.iter().filter_map(|cell| cell.intent.clone()).collect();
    let policy = study.policy.as_ref().map(|policy| parse_policy(&policy.text));
    let watch = PredictionWatch {
        cpus: Some(forecast.cpus.to_string()),
        duration: study.each,
        policy: policy.and_then(Result::ok),
    };
    session.note("watching without isolation, to predict each cell\n");
    let kinds = study.cells.first().map_or(&[][..], |cell| &cell.load);
    let load = match kinds.is_empty() {
        true => None,
        false => {
            let cpus = load_cpus(study, &forecast.cpus, None, session.root());
            Some(RunningLoad::start(&cpus, kinds)?)
        }
    };
    let predicted = forecast_partitions(&watch, session, &intents)?;
    ended_load(load, "the machine without isolation")?;
    let Some((outcomes, notes)) = predicted else {
        return Ok(RunsEnd::Interrupted);
    };
    let mut partitions = outcomes.partitions.iter();
    let cells = study.cells.iter().map(|cell| {
        let partition = cell.intent.as_ref().and_then(|_| partitions.next());
        CellPrediction::new(&cell.name, partition.unwrap_or(&outcomes.now))
    });
    let cells = cells.collect();
    let words = |note: &String| note.split_whitespace().collect::<Vec<&str>>().join(" ");
    let notes = notes.iter().map(words).collect();
    directory.record_predictions(&CellPredictions { cells, notes })?;
    Ok(RunsEnd::Done)
}
