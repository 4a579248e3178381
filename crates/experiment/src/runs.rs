//! Makes the runs one after another: creates the cell, measures, and restores the machine, whatever happens in between.

use crate::directory::Directory;
use crate::forecast::{Forecast, REASON, idle_knob, load_cpus, with_cpus};
use crate::{cooling, measurement};
use apply::UndoTarget;
use apply::guard::{Guard, GuardTrigger};
use machine::temperatures::hottest;
use machine::{CpuSet, duration_text};
use measure::load::RunningLoad;
use plan::{Intent, Plan};
use root::{Failure, Status};
use session::isolation::plan_on;
use session::{ChangeLock, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::heat::Heat;
use study::{BootSession, LevelCombination, RunPosition, RunSchedule, Study};

/// The context of every run of a study.
#[derive(Clone, Copy)]
pub(crate) struct OpenStudy<'a> {
    /// The machine, which also receives progress.
    pub session: &'a Session,
    /// The study.
    pub forecast: &'a Forecast,
    /// The directory of its results.
    pub directory: &'a Directory,
    /// Becomes true if the study is to stop.
    pub stop: &'a AtomicBool,
}

/// Why the runs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsEnd {
    /// Every requested run is done.
    Done,
    /// They were stopped.
    Interrupted,
    /// The next run does not fit into the budget.
    BudgetUsed,
}

/// The limits of the runs.
#[derive(Clone, Copy, Debug)]
pub struct RunBounds {
    /// Only the runs of this boot.
    pub within: Option<BootSession>,
    /// The time for all runs.
    pub budget: Option<Duration>,
}

/// Makes the remaining runs within these limits.
///
/// # Errors
/// A run that failed. The machine is restored, or the error names what is not.
pub fn run_all(
    open: &OpenStudy,
    schedule: &mut RunSchedule,
    RunBounds { within, budget }: RunBounds,
) -> Result<RunsEnd, Failure> {
    let OpenStudy {
        session,
        forecast,
        directory,
        stop,
    } = *open;
    let start = Instant::now();
    let study = &forecast.study;
    if schedule.next().is_some()
        && let Some(remark) = cooling::remark(session, study)
    {
        session.note(&format!("note: {remark}\n"));
    }
    let done_before = schedule.runs_done();
    while let Some(place) = schedule.next() {
        if within.is_some() && schedule.next_boot_session() != within {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(RunsEnd::Interrupted);
        }
        // At least one run, so that every call makes progress.
        let would_take = start.elapsed().saturating_add(schedule.one());
        if schedule.runs_done() > done_before && budget.is_some_and(|budget| would_take > budget) {
            return Ok(RunsEnd::BudgetUsed);
        }
        let Some(cell) = study.cells.get(place.cell) else {
            break;
        };
        session.note(&next_text(study, schedule, place));
        let run_start = Instant::now();
        let before = cooling::cool(session, study, stop);
        if stop.load(Ordering::Relaxed) {
            return Ok(RunsEnd::Interrupted);
        }
        let Some(bytes) = run_one(session, forecast, cell, stop)? else {
            return Ok(RunsEnd::Interrupted);
        };
        let after = hottest(session.root());
        directory.save(place, &bytes)?;
        if let (Some(before), Some(after)) = (before, after) {
            directory.note_heat(Heat {
                cell: cell.name.clone(),
                repetition: place.block + 1,
                before,
                after,
            })?;
        }
        schedule.finish(place, run_start.elapsed());
    }
    Ok(RunsEnd::Done)
}

/// Describes the next run, and how long the rest takes.
pub fn next_text(study: &Study, schedule: &RunSchedule, place: RunPosition) -> String {
    format!(
        "[{}/{}] {}, repetition {}; about {} left\n",
        schedule.runs_done() + 1,
        schedule.order().len(),
        study.cells.get(place.cell).map_or("", |cell| &cell.name),
        place.block + 1,
        duration_text(schedule.remaining())
    )
}

/// Undoes what a killed study left; returns a message about it.
///
/// # Errors
/// The undo failed.
pub fn undo_leftover(session: &Session) -> Result<Option<String>, Failure> {
    if !session.in_force_because().iter().any(|(_, reason)| reason == REASON) {
        return Ok(None);
    }
    undo(&session.lock()?, &mut |_| {})?;
    Ok(Some("undid what a killed study had left active\n".to_owned()))
}

/// Makes one run. `None` if it was stopped.
///
/// # Errors
/// The cell cannot be created or measured. The machine is restored, or the error names what is not.
pub fn run_one(
    session: &Session,
    forecast: &Forecast,
    cell: &LevelCombination,
    stop: &AtomicBool,
) -> Result<Option<Vec<u8>>, Failure> {
    let isolated = match &cell.intent {
        None => None,
        Some(intent) => match RunPartition::make(session, intent, cell, forecast, stop) {
            Ok(isolated) => Some(isolated),
            Err(error) if error.status == Status::Failed && stop.load(Ordering::Relaxed) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    let measured = measure(
        session,
        forecast,
        cell,
        isolated.as_ref().map(|isolated| &isolated.housekeeping),
        stop,
    );
    let back = isolated.map_or(Ok(()), |isolated| isolated.end(session));
    // An incomplete undo matters more than why a measurement failed.
    back.and(measured)
}

fn measure(
    session: &Session,
    forecast: &Forecast,
    cell: &LevelCombination,
    housekeeping: Option<&CpuSet>,
    stop: &AtomicBool,
) -> Result<Option<Vec<u8>>, Failure> {
    let load = match cell.load.is_empty() {
        true => None,
        false => Some(RunningLoad::start(
            &load_cpus(&forecast.study, &forecast.cpus, housekeeping, session.root()),
            &cell.load,
        )?),
    };
    let measured = measurement::measure(&forecast.study, &forecast.cpus, stop)?;
    match measured {
        Some(_) => ended_load(load, &cell.name).map(|()| measured),
        None => Ok(None),
    }
}

/// Ends a load, which must have run until now.
///
/// # Errors
/// A part of it ended before.
pub fn ended_load(load: Option<RunningLoad>, measured: &str) -> Result<(), Failure> {
    let broken = load.map(|mut load| load.broken()).unwrap_or_default();
    match broken.first() {
        None => Ok(()),
        Some(kind) => Err(Failure::unable(
            format!("the load {} ended while {measured} was measured", kind.name()),
            "the result does not match the cell, and was discarded",
            "check for a full disk, too little memory or a missing loopback interface, then run the same command again",
        )),
    }
}

/// A partition for one run. The guard undoes it if this process is killed.
struct RunPartition {
    guard: Guard,
    housekeeping: CpuSet,
}

impl RunPartition {
    fn make(
        session: &Session,
        intent: &Intent,
        cell: &LevelCombination,
        forecast: &Forecast,
        stop: &AtomicBool,
    ) -> Result<RunPartition, Failure> {
        let root = session.root();
        let changing = session.lock()?;
        session.refresh();
        let machine = session.machine().for_plan(root);
        let intent = with_cpus(session, intent, &forecast.cpus);
        let plan = plan_on(session, &machine, &intent)?;
        if !forecast.study.which_knob.is_empty() {
            refuse_idle(&plan, cell)?;
        }
        let guard = Guard::arm("/proc/self/exe", &plan.housekeeping, GuardTrigger::Parent)?;
        let request = apply::ApplyRequest {
            machine: &machine,
            intent: &intent,
            plan: &plan,
            reason: REASON,
            tool: env!("CARGO_PKG_VERSION"),
            guard: Some(guard.token()),
            stop,
        };
        match apply::apply(&*changing.host, changing.state(), &request) {
            Ok(_) => Ok(RunPartition {
                guard,
                housekeeping: plan.housekeeping,
            }),
            Err(error) => {
                guard.disarm();
                Err(error.into())
            }
        }
    }

    fn end(self, session: &Session) -> Result<(), Failure> {
        // The following runs need the original machine, so this undo waits as long as its guard would.
        let back = session
            .lock_however_long()
            .and_then(|changing| undo(&changing, &mut |line| session.note(&format!("left alone: {line}\n"))));
        if back.is_ok() {
            self.guard.disarm();
        }
        back
    }
}

/// Rejects a cell whose knobs change nothing: it must consist of exactly the knobs in its name. The forecast checked that
/// earlier, and the machine may have changed since.
fn refuse_idle(plan: &Plan, cell: &LevelCombination) -> Result<(), Failure> {
    match idle_knob(plan) {
        None => Ok(()),
        Some(knob) => Err(Failure::conflict(
            format!("{} would not match its name", cell.name),
            format!("{knob} already has its target value: another program has changed it since this study started"),
            "restore its former value and run the same command again, or start again with another --out",
        )),
    }
}

/// Undoes what studies applied. What another program changed since then is reported.
fn undo(changing: &ChangeLock, report: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    let undone = changing.undo(UndoTarget::Because(REASON), REASON)?;
    undone.left_alone().for_each(|line| report(line));
    match undone.failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::conflict(
            "not everything could be undone",
            undone.failed.join("; "),
            "check what is named above, then run `quietcore undo`; results so far are kept",
        )),
    }
}
