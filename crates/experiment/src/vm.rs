//! `study run --in vm`: every boot of a study is a virtual machine of its own, which QEMU of this machine runs. This machine is
//! not changed.

mod accelerator;
mod archive;
mod bench;
mod guest_session;
mod guests;
mod kernel;

use crate::directory::Directory;
use crate::local::lock;
use crate::open_study::OpenStudy;
use crate::outcome::Outcome;
use crate::runs::RunsEnd;
use crate::study_plan::{StudyPlan, record, repetition_text};
use crate::{ShowOutcome, StudyFile, StudyRun};
use bench::Bench;
use guest::qemu;
use machine::duration_text;
use root::{Failure, Status};
use session::Session;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::Schedule;

/// What the virtual machines of a study are. What is not named has its usual value.
#[derive(Clone, Debug, Default)]
pub struct VmOptions {
    /// The kernel (bzImage) of boots for which the study names none.
    pub kernel: Option<PathBuf>,
    /// CPUs of each machine.
    pub cpus: Option<u32>,
    /// Memory of each machine.
    pub memory_mib: Option<u32>,
    /// The static quietcore that measures there, of the same version; without it this one.
    pub program: Option<PathBuf>,
    /// How long a machine may be silent beyond three times what a run takes.
    pub patience: Option<Duration>,
}

/// Computes what would run.
///
/// # Errors
/// What is missing here, and what is wrong with the study.
pub fn plan(study: StudyFile, file: &Path, options: &VmOptions) -> Result<StudyPlan, Failure> {
    let bench = Bench::set_up(options, &study)?;
    let forecast = bench.foresee(study, file)?;
    let schedule = Schedule::new(&forecast.study, []).with_restart(guests::BOOTING);
    let boots = forecast.study.boots.iter().zip(&bench.kernels);
    let mut text: String = boots
        .map(|(boot, kernel)| {
            let line = qemu::line(bench.accelerator, &boot.words_for(&forecast.cpus));
            format!("  machine  Linux {}, {}\n", kernel.release, report::safe(&line))
        })
        .collect();
    text.push_str(&format!(
        "each of these in every repetition, with {}, one after the other; this machine is not changed\n",
        bench.text()
    ));
    let notes = forecast
        .notes
        .iter()
        .chain(bench.note().iter())
        .cloned()
        .collect();
    Ok(StudyPlan {
        forecast,
        schedule,
        boots: text,
        notes,
    })
}

/// Runs what is left of a study.
///
/// # Errors
/// What is missing here, what is wrong with the study, a directory of something else, and QEMU that cannot be started.
pub fn carry_out(
    session: &Session,
    run: StudyRun,
    options: &VmOptions,
    stop: &AtomicBool,
    show: &mut ShowOutcome,
) -> Result<Status, Failure> {
    let bench = Bench::set_up(options, &run.study)?;
    let forecast = bench.foresee(run.study, run.file)?;
    let _lock = match root::process::ids().0 {
        0 => Some(lock(session)?),
        // Who is not root has no place for a lock, and no study on this machine to disturb.
        _ => None,
    };
    session.note(&forecast.notes_text());
    if let Some(note) = bench.note() {
        session.note(&format!("note: {note}\n"));
    }
    let directory = Directory::open(run.out, &forecast, record(&forecast))?;
    let mut schedule = Schedule::new(&forecast.study, directory.done()?).with_restart(guests::BOOTING);
    let all = schedule.order().len();
    if schedule.done() > 0 {
        session.note(&format!("{} of {all} runs are there already\n", schedule.done()));
    }
    session.note(&format!(
        "{} cells, {} each, in machines of {}; about {} left in all\n",
        forecast.study.cells.len(),
        repetition_text(forecast.study.repetitions),
        bench.text(),
        duration_text(schedule.remaining())
    ));
    let open = OpenStudy {
        session,
        forecast: &forecast,
        directory: &directory,
        stop,
    };
    let ended = guests::run_all(&open, &bench, &mut schedule)?;
    let left = all - schedule.done();
    if left == 0 {
        show(&Outcome::of(&directory)?);
        return Ok(Status::Done);
    }
    for (what, why) in &ended.given_up {
        session.note(&format!("not run: {what}: {why}\n"));
    }
    let why = match ended.ending {
        RunsEnd::Interrupted => "interrupted; ",
        RunsEnd::BudgetUsed => "the next run would not fit into the budget; ",
        RunsEnd::Done => "",
    };
    session.note(&format!(
        "{why}{left} runs are left; the same command goes on with them\n"
    ));
    Ok(Status::Failed)
}
