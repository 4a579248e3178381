//! Where a study runs, and its plan and its runs there.

use crate::forecast::Forecast;
use crate::remote::BoardOptions;
use crate::study_run::StudyRun;
use crate::vm::VmOptions;
use crate::{ShowOutcome, StudyFile, StudyPlan, local, remote, study_plan, vm};
use root::{Failure, Status};
use session::Session;
use std::path::Path;

/// Where a study runs.
#[derive(Clone, Debug)]
pub enum Venue {
    /// On this machine.
    Here,
    /// In virtual machines that QEMU runs on this machine, which is not changed.
    Vm(VmOptions),
    /// On another machine, over ssh.
    Board(BoardOptions),
}

/// Computes what a study makes where it is to run. Nothing runs.
///
/// # Errors
/// A study that is impossible there, or a place of which that is not known here.
pub fn plan(session: &Session, study: StudyFile, file: &Path, venue: &Venue) -> Result<StudyPlan, Failure> {
    match venue {
        Venue::Here => Ok(study_plan::here(session, Forecast::of(session, study, file)?)),
        Venue::Vm(options) => vm::plan(study, file, options),
        Venue::Board(_) => Err(remote::no_plan()),
    }
}

/// Runs what is left of a study.
///
/// # Errors
/// A study that is impossible there, a directory of something else, or a run that failed.
pub fn run(
    session: &Session,
    venue: &Venue,
    run: StudyRun,
    show: &mut ShowOutcome,
) -> Result<Status, Failure> {
    let stop = session::stop_flag();
    match venue {
        Venue::Here => local::carry_out(session, run.out, run.consent, stop, show, || {
            Forecast::of(session, run.study, run.file)
        }),
        Venue::Vm(options) => vm::carry_out(session, run, options, stop, show),
        Venue::Board(options) => remote::carry_out(session, &run, options, stop, show),
    }
}
