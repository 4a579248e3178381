//! Selects where a study runs, and plans and runs it there.

use crate::forecast::Forecast;
use crate::remote::BoardOptions;
use crate::vm::VmOptions;
use crate::{OutcomePresenter, StudyFile, StudyPlan, StudyRun, local, remote, study_plan, vm};
use root::{Failure, Status};
use session::Session;
use std::path::Path;

/// Where a study runs.
#[derive(Clone, Debug)]
pub enum Venue {
    /// On this machine.
    Here,
    /// In virtual machines of QEMU on this machine, which is not changed.
    Vm(VmOptions),
    /// On another machine, over ssh.
    Board(BoardOptions),
}

/// Plans a study for this place. Runs nothing.
///
/// # Errors
/// A study that is impossible there, or a place that cannot be planned from here.
pub fn plan(session: &Session, study: StudyFile, file: &Path, venue: &Venue) -> Result<StudyPlan, Failure> {
    match venue {
        Venue::Here => Ok(study_plan::here(session, Forecast::of(session, study, file)?)),
        Venue::Vm(options) => vm::plan(study, file, options),
        Venue::Board(_) => Err(remote::no_plan()),
    }
}

/// Makes the remaining runs of a study.
///
/// # Errors
/// A study that is impossible there, a directory of another study, or a run that failed.
pub fn run(session: &Session, venue: &Venue, run: StudyRun, show: &mut OutcomePresenter) -> Result<Status, Failure> {
    let stop = session::stop_flag();
    match venue {
        Venue::Here => local::carry_out(session, run.out, run.consent, show, || {
            Forecast::of(session, run.study, run.file)
        }),
        Venue::Vm(options) => vm::carry_out(session, run, options, stop, show),
        Venue::Board(options) => remote::carry_out(session, &run, options, stop, show),
    }
}
