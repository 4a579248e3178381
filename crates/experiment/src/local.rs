//! Runs a study on this machine, from its lock to its results. A study that reboots the machine continues in `reboots`.

use crate::directory::{self, Directory};
use crate::forecast::Forecast;
use crate::outcome::StudyOutcome;
use crate::reboots::Consent;
use crate::runs::{self, OpenStudy, RunBounds, RunsEnd};
use crate::study_plan::{record, repetition_text};
use crate::{OutcomePresenter, StudyFile, cell_prediction, reboots};
use machine::duration_text;
use root::state::Lock;
use root::{Failure, Status};
use session::Session;
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::RunSchedule;

/// The lock file of studies: two at once would measure each other.
const LOCK: &str = "study";

/// Continues the study that reboots this machine; `None` if none is under way. A study that cannot continue is ended, because
/// there may be no user to do it.
///
/// # Errors
/// As [`crate::run`].
pub fn resume(session: &Session, show: &mut OutcomePresenter) -> Result<Option<Status>, Failure> {
    refuse_others()?;
    session::stop_flag();
    let _lock = lock(session)?;
    let Some(under_way) = reboots::under_way(session)? else {
        return Ok(None);
    };
    let out = PathBuf::from(under_way.out);
    let file = out.join("study.toml");
    let resumed = StudyFile::read(&file).and_then(|study| {
        go_on(session, &out, Consent::Given, show, || {
            match study.study().names_kernels() {
                // The features of another kernel are unknown under this one: each boot finds out.
                true => Forecast::unchecked(session, study, &file),
                false => Forecast::of(session, study, &file),
            }
        })
    });
    resumed.map(Some).inspect_err(|_| reboots::end(session))
}

/// Makes the remaining runs of a study.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn carry_out(
    session: &Session,
    out: &Path,
    consent: Consent,
    show: &mut OutcomePresenter,
    foresee: impl FnOnce() -> Result<Forecast, Failure>,
) -> Result<Status, Failure> {
    refuse_others()?;
    let _lock = lock(session)?;
    go_on(session, out, consent, show, foresee)
}

/// Takes the lock of studies.
///
/// # Errors
/// Another study holds it.
pub(crate) fn lock(session: &Session) -> Result<Lock, Failure> {
    session
        .made_state_in(LOCK)?
        .lock(Duration::from_secs(2))
        .map_err(|error| Failure {
            status: Status::Conflict,
            next: "wait until the other study has ended: two studies would disturb each other's measurements"
                .to_owned(),
            ..error.into()
        })
}

fn refuse_others() -> Result<(), Failure> {
    match root::process::ids().0 {
        0 => Ok(()),
        _ => Err(Failure::new(
            Status::Denied,
            "a study isolates CPUs and undoes that",
            "only root may do this",
            "run it as root; `quietcore study plan` and `which-knob --dry-run` need no privileges",
        )),
    }
}

/// Undoes what a killed study left, then continues: the study must be compared with the original machine.
fn go_on(
    session: &Session,
    out: &Path,
    consent: Consent,
    show: &mut OutcomePresenter,
    foresee: impl FnOnce() -> Result<Forecast, Failure>,
) -> Result<Status, Failure> {
    let stop = session::stop_flag();
    if let Some(note) = runs::undo_leftover(session)? {
        session.note(&note);
    }
    let forecast = foresee()?;
    reboots::admit(session, &forecast, out, consent)?;
    session.note(&forecast.notes_text());
    let mut record = record(&forecast);
    if reboots::under_way(session)?.is_some()
        && let Some(former) = directory::started_record(out, &forecast.study, &forecast.bytes)?
    {
        // The running kernel may be the wrong one, which every boot checks: the record keeps the first one.
        record.kernel = former.kernel;
    }
    let directory = Directory::open(out, &forecast, record)?;
    let mut schedule = RunSchedule::new(&forecast.study, directory.finished_runs()?);
    note_remaining(session, &forecast, &schedule, "");
    let open = OpenStudy {
        session,
        forecast: &forecast,
        directory: &directory,
        stop,
    };
    if forecast.study.needs_boots() {
        let ended = reboots::go_on(&open, out, &mut schedule, show);
        return ended.inspect_err(|_| reboots::end(session));
    }
    let bounds = RunBounds {
        within: None,
        budget: forecast.study.budget,
    };
    let end = match cell_prediction::store(&open, schedule.runs_done())? {
        RunsEnd::Done => runs::run_all(&open, &mut schedule, bounds)?,
        end => end,
    };
    let left = schedule.order().len() - schedule.runs_done();
    let next = format!("{left} runs are left; the same command continues with them\n");
    match end {
        RunsEnd::Done => {
            show(&StudyOutcome::of(&directory)?);
            Ok(Status::Done)
        }
        RunsEnd::Interrupted => {
            session.note(&format!("interrupted; the machine is as before; {next}"));
            Ok(Status::Failed)
        }
        RunsEnd::BudgetUsed => {
            session.note(&format!("the next run would exceed the budget; {next}"));
            Ok(Status::Failed)
        }
    }
}

/// Notes what is done and what is left of a study. `place` is added to the number of runs.
pub(crate) fn note_remaining(session: &Session, forecast: &Forecast, schedule: &RunSchedule, place: &str) {
    if schedule.runs_done() > 0 {
        session.note(&format!(
            "{} of {} runs are already complete\n",
            schedule.runs_done(),
            schedule.order().len()
        ));
    }
    session.note(&format!(
        "{} cells, {} each{place}; about {} left in all\n",
        forecast.study.cells.len(),
        repetition_text(forecast.study.repetitions),
        duration_text(schedule.remaining())
    ));
}
