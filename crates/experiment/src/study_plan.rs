//! Plans a study before anything runs: its cells, their order, its boots, and its duration. Also defines the study that a
//! command runs.

use crate::forecast::Forecast;
use crate::{Consent, StudyFile, reboots};
use session::Session;
use std::path::Path;
use study::{RunSchedule, StudyRecord};

/// A study with its order, checked against the machine that it is to run on.
pub struct StudyPlan {
    /// The study on its machine.
    pub forecast: Forecast,
    /// The order of its runs.
    pub schedule: RunSchedule,
    /// The requirements of its boots, one line each.
    pub boots: String,
    /// Notes for the user before it runs.
    pub notes: Vec<String>,
}

impl StudyPlan {
    /// The record of its results.
    #[must_use]
    pub fn record(&self) -> StudyRecord {
        record(&self.forecast)
    }
}

/// A study to run.
pub struct StudyRun<'a> {
    /// The study.
    pub study: StudyFile,
    /// Its file, for messages.
    pub file: &'a Path,
    /// The directory of the results.
    pub out: &'a Path,
    /// Whether this machine may be rebooted.
    pub consent: Consent,
}

/// Plans a study on this machine.
pub(crate) fn here(session: &Session, forecast: Forecast) -> StudyPlan {
    let schedule = RunSchedule::new(&forecast.study, []);
    let impossible = reboots::impossible(session, &forecast);
    let mut notes = forecast.notes.clone();
    notes.extend(
        impossible
            .iter()
            .chain(&reboots::kernels_not_started(session, &forecast))
            .map(|why| format!("not possible on this machine: {why}")),
    );
    StudyPlan {
        boots: reboots::text(&forecast, &schedule),
        schedule,
        notes,
        forecast,
    }
}

/// The record of a study's results.
pub(crate) fn record(forecast: &Forecast) -> StudyRecord {
    StudyRecord::new(
        &forecast.study,
        &forecast.machine,
        &forecast.cpus,
        env!("CARGO_PKG_VERSION"),
    )
}

/// `once`, `4 times`.
#[must_use]
pub fn repetition_text(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}
