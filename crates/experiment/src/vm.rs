//! Implements `study run --in vm`: every boot of a study is a separate virtual machine, run by QEMU on this machine. This
//! machine is not changed.

mod accelerator;
mod bench;
mod guest_session;
mod guests;

use crate::directory::Directory;
use crate::local::{lock, note_remaining};
use crate::outcome::StudyOutcome;
use crate::runs::{OpenStudy, RunsEnd};
use crate::study_plan::{StudyPlan, record};
use crate::{OutcomePresenter, StudyFile, StudyRun};
use bench::GuestRequirements;
use guest::qemu::{self, PROGRAM};
use root::{Failure, Status};
use session::Session;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::RunSchedule;

/// The options of a study's virtual machines. `None` selects the default.
#[derive(Clone, Debug, Default)]
pub struct VmOptions {
    /// The kernel (bzImage) for boots without a kernel in the study.
    pub kernel: Option<PathBuf>,
    /// CPUs of each machine.
    pub cpus: Option<u32>,
    /// Memory of each machine.
    pub memory_mib: Option<u32>,
    /// The static quietcore that measures there, of the same version; by default this one.
    pub program: Option<PathBuf>,
    /// How long a machine may be silent, beyond three times the duration of a run.
    pub patience: Option<Duration>,
}

/// A kernel's image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// Its path.
    pub path: PathBuf,
    /// Its release, from the image.
    pub release: String,
}

/// The error if QEMU cannot be started.
pub fn not_started(error: &std::io::Error) -> Failure {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "it is not installed".to_owned(),
        _ => error.to_string(),
    };
    Failure::usage(
        format!("{PROGRAM} cannot be started"),
        why,
        "install it: the package is qemu-system-x86 on Debian and Ubuntu, qemu-system-x86-core on Fedora, \
         qemu-system-x86 on Arch",
    )
}

/// Plans the study.
///
/// # Errors
/// Missing requirements, and errors in the study.
pub fn plan(study: StudyFile, file: &Path, options: &VmOptions) -> Result<StudyPlan, Failure> {
    let bench = GuestRequirements::set_up(options, &study)?;
    let forecast = bench.forecast(study, file)?;
    let schedule = RunSchedule::new(&forecast.study, []).with_restart(guests::BOOTING);
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
    let notes = forecast.notes.iter().chain(bench.note().iter()).cloned().collect();
    Ok(StudyPlan {
        forecast,
        schedule,
        boots: text,
        notes,
    })
}

/// Makes the remaining runs of a study.
///
/// # Errors
/// Missing requirements, errors in the study, a directory of another study, and a QEMU that cannot be started.
pub fn carry_out(
    session: &Session,
    run: StudyRun,
    options: &VmOptions,
    stop: &AtomicBool,
    show: &mut OutcomePresenter,
) -> Result<Status, Failure> {
    let bench = GuestRequirements::set_up(options, &run.study)?;
    let forecast = bench.forecast(run.study, run.file)?;
    let _lock = match root::process::ids().0 {
        0 => Some(lock(session)?),
        // Without root there is no place for a lock, and no study on this machine to disturb.
        _ => None,
    };
    session.note(&forecast.notes_text());
    if let Some(note) = bench.note() {
        session.note(&format!("note: {note}\n"));
    }
    let directory = Directory::open(run.out, &forecast, record(&forecast))?;
    let mut schedule = RunSchedule::new(&forecast.study, directory.finished_runs()?).with_restart(guests::BOOTING);
    let place = format!(", in machines of {}", bench.text());
    note_remaining(session, &forecast, &schedule, &place);
    let open = OpenStudy {
        session,
        forecast: &forecast,
        directory: &directory,
        stop,
    };
    let ended = guests::run_all(&open, &bench, &mut schedule)?;
    let left = schedule.order().len() - schedule.runs_done();
    if left == 0 {
        show(&StudyOutcome::of(&directory)?);
        return Ok(Status::Done);
    }
    for (what, why) in &ended.given_up {
        session.note(&format!("not run: {what}: {why}\n"));
    }
    let why = match ended.ending {
        RunsEnd::Interrupted => "interrupted; ",
        RunsEnd::BudgetUsed => "the next run would exceed the budget; ",
        RunsEnd::Done => "",
    };
    session.note(&format!(
        "{why}{left} runs are left; the same command continues with them\n"
    ));
    Ok(Status::Failed)
}
