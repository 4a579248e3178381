//! Runs studies whose cells need their own boots, on this machine: what is measured in this boot, and which boot comes next.
//!
//! Every step is saved on disk before it is made, and every boot evaluates the state again (`study::next`). So a power cut is
//! one more reboot, and a boot line that fails to boot is one more attempt, of which there are a few.

mod feasibility;
mod unit;

pub(crate) use feasibility::{impossible, kernels_not_started};
pub use unit::{put_back, under_way};

use crate::ShowOutcome;
use crate::forecast::Forecast;
use crate::open_study::OpenStudy;
use crate::outcome::Outcome;
use crate::runs::{self, Bounds, RunsEnd};
use apply::restarts::{Restart, Stage, UnderWay};
use boot::OneBoot;
use feasibility::running_line;
use machine::CpuSet;
use root::{Failure, Status};
use session::Session;
use session::boot_files::once;
use std::path::Path;
use std::time::Duration;
use study::{Boot, Here, Next, RebootAttempt, Schedule, Sitting, next};
use unit::Resumes;

/// Whether the user has allowed reboots of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// `--reboot` was given, now or when the study started.
    Given,
    /// It was not given.
    Missing,
}

/// What the boots of a study require from this machine, one line each; empty if none is needed.
pub(crate) fn text(forecast: &Forecast, schedule: &Schedule) -> String {
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
        schedule.sittings_left()
    )
}

/// Checks whether a study with this directory may start or continue. Writes nothing.
///
/// # Errors
/// Another study is under way, consent is missing, or something is impossible here.
pub(crate) fn admit(
    session: &Session,
    forecast: &Forecast,
    out: &Path,
    consent: Consent,
) -> Result<(), Failure> {
    let here = absolute(out)?;
    match under_way(session)? {
        Some(there) if there.out == here => return Ok(()),
        Some(there) => {
            return Err(Failure::new(
                Status::Conflict,
                format!("a study in {} is under way", report::safe(&there.out)),
                "it restarts this machine, and its boots would be those of two studies",
                "let it come to its end, or end it with `quietcore undo`",
            ));
        }
        None => {}
    }
    if !forecast.study.needs_boots() {
        return Ok(());
    }
    feasibility::refuse_impossible(session, forecast)?;
    let restarts = Schedule::new(&forecast.study, []).sittings_left() + 1;
    match consent {
        Consent::Given => Ok(()),
        Consent::Missing => Err(Failure::usage(
            "this study restarts this machine",
            format!("its boots need about {restarts} restarts, and whatever else runs here ends with each"),
            "say --reboot if that may be; `quietcore study plan` shows which boots these are",
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
    schedule: &mut Schedule,
    show: &mut ShowOutcome,
) -> Result<Status, Failure> {
    let (session, forecast, directory) = (open.session, open.forecast, open.directory);
    let out = absolute(out)?;
    begin(session, &out)?;
    skip_given_up(open, schedule)?;
    let boot_id = session.root().value("/proc/sys/kernel/random/boot_id")?;
    let line = running_line(session);
    loop {
        let Some(under_way) = under_way(session)?.filter(|under_way| under_way.out == out) else {
            session.note("the study was ended by another command; its results stay\n");
            return Ok(Status::Failed);
        };
        let here = Here {
            boot_id: boot_id.as_deref(),
            line: &line,
            release: forecast.machine.kernel.release.as_deref(),
            own_kernel: directory.record().kernel.as_deref(),
            cpus: &forecast.cpus,
            under_way_for: under_way.since(),
        };
        let step = |stage, sitting: Sitting, schedule: &Schedule| Restart {
            stage,
            block: sitting.block,
            boot: sitting.boot,
            done: schedule.done(),
            boot_id: boot_id.clone(),
        };
        match next(&forecast.study, schedule, &tried(&under_way), &here) {
            Next::Measure(sitting) => {
                let step = step(Stage::Measures, sitting, schedule);
                if under_way.restarts.last() != Some(&step) {
                    unit::note(session, &step)?;
                }
                match measure(open, schedule, sitting, under_way.since())? {
                    RunsEnd::Done => {}
                    RunsEnd::BudgetUsed => break budget_used(session, schedule),
                    RunsEnd::Interrupted => return Ok(interrupted(session)),
                }
            }
            Next::Restart(sitting) => {
                let Some(boot) = forecast.study.boots.get(sitting.boot) else {
                    break;
                };
                unit::note(session, &step(Stage::Restarts, sitting, schedule))?;
                restart(open, schedule, sitting, boot)?;
                return Ok(Status::Done);
            }
            Next::GiveUp { sitting, why } => give_up(open, schedule, sitting, why)?,
            Next::BudgetUsed => break budget_used(session, schedule),
            Next::Over => break,
        }
    }
    finish(open, schedule, show)
}

/// Records the start of the study, if it is not under way yet.
fn begin(session: &Session, out: &str) -> Result<(), Failure> {
    if under_way(session)?.is_some() {
        return Ok(());
    }
    unit::begin(session, out)?;
    if unit::resumes(session) == Resumes::Unit {
        session.note("the study goes on by itself after each restart; `quietcore undo` ends it\n");
    }
    Ok(())
}

/// Removes boots from the schedule that an earlier call abandoned.
fn skip_given_up(open: &OpenStudy, schedule: &mut Schedule) -> Result<(), Failure> {
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
    schedule: &mut Schedule,
    sitting: Sitting,
    under_way_for: Duration,
) -> Result<RunsEnd, Failure> {
    let budget = open.forecast.study.budget;
    let bounds = Bounds {
        within: Some(sitting),
        budget: budget.map(|budget| budget.saturating_sub(under_way_for)),
    };
    match runs::run_all(open, schedule, bounds) {
        Ok(end) => Ok(end),
        // There may be no user to read the error, and the other boots can still be measured.
        Err(error) => {
            open.session.error(&error);
            give_up(open, schedule, sitting, format!("{}: {}", error.what, error.why))?;
            Ok(RunsEnd::Done)
        }
    }
}

/// Selects the next boot, and reboots the machine.
fn restart(open: &OpenStudy, schedule: &Schedule, sitting: Sitting, boot: &Boot) -> Result<(), Failure> {
    if !boot.is_plain() {
        once::choose_once(open.session, &entry(boot, &open.forecast.cpus))?;
    }
    let text = format!(
        "repetition {}, boot {}; {} restarts are left",
        sitting.block + 1,
        report::safe(&boot.text(&open.forecast.cpus)),
        schedule.sittings_left()
    );
    unit::restart(open.session, &text)
}

/// Restores everything, shows the results, and returns the machine to its own boot line.
fn finish(open: &OpenStudy, schedule: &Schedule, show: &mut ShowOutcome) -> Result<Status, Failure> {
    let left = put_back(open.session)?;
    if schedule.done() > 0 {
        show(&Outcome::of(open.directory)?);
    }
    let is_complete = schedule.done() == schedule.order().len() && left.is_empty();
    back_to_own_line(open.session);
    Ok(if is_complete { Status::Done } else { Status::Failed })
}

fn interrupted(session: &Session) -> Status {
    session.note(
        "interrupted; it goes on with `quietcore study resume`, as after the next restart; `quietcore undo` ends it\n",
    );
    Status::Failed
}

fn budget_used(session: &Session, schedule: &Schedule) {
    let left = schedule.order().len() - schedule.done();
    session.note(&format!(
        "the next run would not fit into the budget; {left} runs are left; the same command goes on with them\n"
    ));
}

/// Ends a study that cannot continue. There may be no user, and a machine must not keep a line that was meant for one boot.
pub(crate) fn end(session: &Session) {
    if !matches!(under_way(session), Ok(Some(_))) {
        return;
    }
    if let Err(error) = put_back(session) {
        session.error(&error);
        return;
    }
    session.note("the study is ended and everything put back; its results stay\n");
    back_to_own_line(session);
}

/// Returns the machine to its permanent boot line, or reports how.
fn back_to_own_line(session: &Session) {
    if !once::is_once(&running_line(session)) {
        return;
    }
    match unit::resumes(session) {
        Resumes::Unit => {
            if let Err(error) = unit::restart(session, "back to the machine's own line") {
                session.error(&error);
            }
        }
        Resumes::Somebody => note_line(session),
    }
}

/// Reports if this boot still has a line of the study.
pub fn note_line(session: &Session) {
    if once::is_once(&running_line(session)) {
        session.note("this boot has the study's line still; the next one has the machine's own\n");
    }
}

fn give_up(open: &OpenStudy, schedule: &mut Schedule, sitting: Sitting, why: String) -> Result<(), Failure> {
    let boot = open.forecast.study.boots.get(sitting.boot);
    let text = boot
        .map(|boot| boot.text(&open.forecast.cpus))
        .unwrap_or_default();
    open.session.note(&format!(
        "given up: boot {}: {}\n",
        report::safe(&text),
        report::safe(&why)
    ));
    open.directory.give_up(text, why)?;
    schedule.give_up(sitting.boot);
    Ok(())
}

/// The loader entry for a boot.
fn entry(boot: &Boot, cpus: &CpuSet) -> OneBoot {
    OneBoot {
        words: boot.words_for(cpus),
        kernel: boot.kernel.clone(),
    }
}

fn tried(under_way: &UnderWay) -> Vec<RebootAttempt> {
    let one = |step: &Restart| RebootAttempt {
        sitting: Sitting {
            block: step.block,
            boot: step.boot,
        },
        came_up: step.stage == Stage::Measures,
        done: step.done,
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
            "it is not UTF-8, or this directory is gone",
            "name another one with --out",
        )
    })
}
