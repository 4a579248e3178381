//! Runs studies whose cells need their own boots, on this machine: what is measured in this boot, and which boot comes next.
//!
//! Every step is saved on disk before it is made, and every boot evaluates the state again (`study::next`). So a power cut is
//! one more reboot, and a boot line that fails to boot is one more attempt, of which there are a few.

mod feasibility;
mod unit;

pub(crate) use feasibility::{impossible, kernels_not_started};
pub use unit::{remove_everything, under_way};

use crate::OutcomePresenter;
use crate::forecast::Forecast;
use crate::outcome::StudyOutcome;
use crate::runs::{self, OpenStudy, RunBounds, RunsEnd};
use apply::restarts::{Restart, RunningStudy, StudyBootStage};
use boot::OneShotEntry;
use feasibility::running_line;
use machine::CpuSet;
use root::{Failure, Status};
use session::Session;
use session::boot_files::once;
use std::path::Path;
use std::time::Duration;
use study::{Boot, BootSession, CurrentMachine, NextStep, RebootAttempt, RunSchedule, next};
use unit::ResumeMethod;

/// Whether the user has allowed reboots of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// `--reboot` was given, now or when the study started.
    Given,
    /// It was not given.
    Missing,
}

/// What the boots of a study require from this machine, one line each; empty if none is needed.
pub(crate) fn text(forecast: &Forecast, schedule: &RunSchedule) -> String {
    if !forecast.study.needs_boots() {
        return String::new();
    }
    let boots = forecast.study.boots.iter();
    let names: String = boots
        .map(|boot| format!("  boot  {}\n", report::safe(&boot.text(&forecast.cpus))))
        .collect();
    format!(
        "{names}{} restarts, one for each of these in every repetition, about a minute each; on this machine one more, back to its \
         own line\n",
        schedule.boot_sessions_left()
    )
}

/// Checks whether a study with this directory may start or continue. Writes nothing.
///
/// # Errors
/// Another study is under way, consent is missing, or something is impossible here.
pub(crate) fn admit(session: &Session, forecast: &Forecast, out: &Path, consent: Consent) -> Result<(), Failure> {
    let here = absolute(out)?;
    match under_way(session)? {
        Some(there) if there.out == here => return Ok(()),
        Some(there) => {
            return Err(Failure::conflict(
                format!("a study in {} is under way", report::safe(&there.out)),
                "it restarts this machine, and its boots would be those of two studies",
                "let it finish, or end it with `quietcore undo`",
            ));
        }
        None => {}
    }
    if !forecast.study.needs_boots() {
        return Ok(());
    }
    feasibility::refuse_impossible(session, forecast)?;
    let restarts = RunSchedule::new(&forecast.study, []).boot_sessions_left() + 1;
    match consent {
        Consent::Given => Ok(()),
        Consent::Missing => Err(Failure::usage(
            "this study restarts this machine",
            format!("its boots need about {restarts} restarts, and each restart ends everything else that runs here"),
            "add --reboot to allow this; `quietcore study plan` lists these boots",
        )),
    }
}

/// Continues a study as far as possible in this boot: measures what belongs here, and reboots for the rest.
///
/// # Errors
/// A step that could not be saved, measured, selected or restored.
pub(crate) fn go_on(
    open: &OpenStudy,
    out: &Path,
    schedule: &mut RunSchedule,
    show: &mut OutcomePresenter,
) -> Result<Status, Failure> {
    let (session, forecast, directory) = (open.session, open.forecast, open.directory);
    let out = absolute(out)?;
    record_start(session, &out)?;
    skip_given_up(open, schedule)?;
    let boot_id = session.root().value("/proc/sys/kernel/random/boot_id")?;
    let line = running_line(session);
    loop {
        let Some(under_way) = under_way(session)?.filter(|under_way| under_way.out == out) else {
            session.note("another command ended the study; its results are kept\n");
            return Ok(Status::Failed);
        };
        let here = CurrentMachine {
            boot_id: boot_id.as_deref(),
            line: &line,
            release: forecast.machine.kernel.release.as_deref(),
            own_kernel: directory.record().kernel.as_deref(),
            cpus: &forecast.cpus,
            under_way_for: under_way.since(),
        };
        let step = |stage, boot_session: BootSession, schedule: &RunSchedule| Restart {
            stage,
            block: boot_session.block,
            boot: boot_session.boot,
            done: schedule.runs_done(),
            boot_id: boot_id.clone(),
        };
        match next(&forecast.study, schedule, &tried(&under_way), &here) {
            NextStep::Measure(boot_session) => {
                let step = step(StudyBootStage::Measures, boot_session, schedule);
                if under_way.restarts.last() != Some(&step) {
                    unit::note(session, &step)?;
                }
                match measure(open, schedule, boot_session, under_way.since())? {
                    RunsEnd::Done => {}
                    RunsEnd::BudgetUsed => break budget_used(session, schedule),
                    RunsEnd::Interrupted => return Ok(interrupted(session)),
                }
            }
            NextStep::Restart(boot_session) => {
                let Some(boot) = forecast.study.boots.get(boot_session.boot) else {
                    break;
                };
                unit::note(session, &step(StudyBootStage::Restarts, boot_session, schedule))?;
                restart(open, schedule, boot_session, boot)?;
                return Ok(Status::Done);
            }
            NextStep::GiveUp { boot_session, why } => give_up(open, schedule, boot_session, why)?,
            NextStep::BudgetUsed => break budget_used(session, schedule),
            NextStep::Over => break,
        }
    }
    finish(open, schedule, show)
}

/// Records the start of the study, if it is not under way yet.
fn record_start(session: &Session, out: &str) -> Result<(), Failure> {
    if under_way(session)?.is_some() {
        return Ok(());
    }
    unit::record_and_install(session, out)?;
    if unit::resumes(session) == ResumeMethod::Unit {
        session.note("the study continues by itself after each restart; `quietcore undo` ends it\n");
    }
    Ok(())
}

/// Removes boots from the schedule that an earlier call abandoned.
fn skip_given_up(open: &OpenStudy, schedule: &mut RunSchedule) -> Result<(), Failure> {
    for given_up in open.directory.given_up()? {
        for (place, boot) in open.forecast.study.boots.iter().enumerate() {
            if boot.text(&open.forecast.cpus) == given_up.boot {
                schedule.give_up(place);
            }
        }
    }
    Ok(())
}

/// Makes the runs of this boot. A boot whose runs fail is abandoned.
fn measure(
    open: &OpenStudy,
    schedule: &mut RunSchedule,
    boot_session: BootSession,
    under_way_for: Duration,
) -> Result<RunsEnd, Failure> {
    let budget = open.forecast.study.budget;
    let bounds = RunBounds {
        within: Some(boot_session),
        budget: budget.map(|budget| budget.saturating_sub(under_way_for)),
    };
    match runs::run_all(open, schedule, bounds) {
        Ok(end) => Ok(end),
        // There may be no user to read the error, and the other boots can still be measured.
        Err(error) => {
            open.session.error(&error);
            give_up(open, schedule, boot_session, error.reason())?;
            Ok(RunsEnd::Done)
        }
    }
}

/// Selects the next boot, and reboots the machine.
fn restart(open: &OpenStudy, schedule: &RunSchedule, boot_session: BootSession, boot: &Boot) -> Result<(), Failure> {
    if !boot.is_plain() {
        once::choose_once(open.session, &entry(boot, &open.forecast.cpus))?;
    }
    let text = format!(
        "repetition {}, boot {}; {} restarts are left",
        boot_session.block + 1,
        report::safe(&boot.text(&open.forecast.cpus)),
        schedule.boot_sessions_left()
    );
    unit::restart(open.session, &text)
}

/// Restores everything, shows the results, and returns the machine to its own boot line.
fn finish(open: &OpenStudy, schedule: &RunSchedule, show: &mut OutcomePresenter) -> Result<Status, Failure> {
    let left = remove_everything(open.session)?;
    if schedule.runs_done() > 0 {
        show(&StudyOutcome::of(open.directory)?);
    }
    let is_complete = schedule.runs_done() == schedule.order().len() && left.is_empty();
    restore_own_line(open.session);
    Ok(if is_complete { Status::Done } else { Status::Failed })
}

fn interrupted(session: &Session) -> Status {
    session.note(
        "interrupted; it continues with `quietcore study resume`, as after the next restart; `quietcore undo` ends \
         it\n",
    );
    Status::Failed
}

fn budget_used(session: &Session, schedule: &RunSchedule) {
    let left = schedule.order().len() - schedule.runs_done();
    session.note(&format!(
        "the next run would exceed the budget; {left} runs are left; the same command continues with them\n"
    ));
}

/// Ends a study that cannot continue. There may be no user, and a machine must not keep a line that was meant for one boot.
pub(crate) fn end(session: &Session) {
    if !matches!(under_way(session), Ok(Some(_))) {
        return;
    }
    if let Err(error) = remove_everything(session) {
        session.error(&error);
        return;
    }
    session.note("the study has ended and everything is undone; its results are kept\n");
    restore_own_line(session);
}

/// Returns the machine to its permanent boot line, or reports how.
fn restore_own_line(session: &Session) {
    if !once::is_once(&running_line(session)) {
        return;
    }
    match unit::resumes(session) {
        ResumeMethod::Unit => {
            if let Err(error) = unit::restart(session, "returning to the machine's own boot line") {
                session.error(&error);
            }
        }
        ResumeMethod::User => note_line(session),
    }
}

/// Reports if this boot still has a line of the study.
pub fn note_line(session: &Session) {
    if once::is_once(&running_line(session)) {
        session.note("this boot still has the study's boot line; the next one has the machine's own\n");
    }
}

fn give_up(
    open: &OpenStudy,
    schedule: &mut RunSchedule,
    boot_session: BootSession,
    why: String,
) -> Result<(), Failure> {
    let boot = open.forecast.study.boots.get(boot_session.boot);
    let text = boot.map(|boot| boot.text(&open.forecast.cpus)).unwrap_or_default();
    open.session.note(&format!(
        "given up: boot {}: {}\n",
        report::safe(&text),
        report::safe(&why)
    ));
    open.directory.give_up(text, why)?;
    schedule.give_up(boot_session.boot);
    Ok(())
}

/// The loader entry for a boot.
fn entry(boot: &Boot, cpus: &CpuSet) -> OneShotEntry {
    OneShotEntry {
        words: boot.words_for(cpus),
        kernel: boot.kernel.clone(),
    }
}

fn tried(under_way: &RunningStudy) -> Vec<RebootAttempt> {
    let one = |step: &Restart| RebootAttempt {
        boot_session: BootSession {
            block: step.block,
            boot: step.boot,
        },
        has_booted: step.stage == StudyBootStage::Measures,
        runs_done: step.done,
        boot_id: step.boot_id.clone(),
    };
    under_way.restarts.iter().map(one).collect()
}

/// The absolute path of the directory, valid after a reboot and from any working directory.
fn absolute(out: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(out).ok();
    let text = path.and_then(|path| path.to_str().map(str::to_owned));
    text.ok_or_else(|| {
        Failure::usage(
            "the directory has no path that can be recorded",
            "it is not UTF-8, or this directory no longer exists",
            "choose another one with --out",
        )
    })
}
