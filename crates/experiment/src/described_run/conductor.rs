//! Conducts a described run: starts programs and loads, then the samplers, and records how everything ended.

use super::DescribedRun;
use super::run_plan::RunPlan;
use crate::ResultFile;
use machine::CpuSet;
use measure::configuration::{MemoryLock, RunConfiguration};
use measure::load::{LoadKind, RunningLoad};
use measure::programs::{ProgramResult, RunContinuation, RunningPrograms};
use measure::{Environment, MeasureError, MeasureRequest, Measurement, Note, NoteLevel, Progress, note};
use root::{Failure, Status};
use session::{Session, cpuset_entry};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The result of a described run.
pub struct DescribedResult {
    /// The result, with the results of the programs.
    pub measurement: Measurement,
    /// Why it ended.
    pub end: DescribedEnd,
    /// How long it took, with start and end of the programs.
    pub elapsed: Duration,
}

/// Why a described run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribedEnd {
    /// All samplers have ended.
    Samplers,
    /// A program has ended that ends the run.
    Program,
    /// A signal.
    Interrupted,
}

impl DescribedRun {
    /// Runs it to its end. `kept` gets the results so far, about every second; `show` gets the progress.
    ///
    /// # Errors
    /// A program, a load or the measurement could not be started, or failed.
    pub fn run(
        &self,
        session: &Session,
        result_file: Option<&ResultFile>,
        show: &mut dyn FnMut(&Progress),
    ) -> Result<DescribedResult, Failure> {
        let stop = session::stop_flag();
        let started = Instant::now();
        pin_and_lock(self)?;
        let environment = Environment::of(&self.machine, session.root(), env!("CARGO_PKG_VERSION"));
        let mut programs =
            RunningPrograms::start(&self.plan.orders).map_err(|error| not_started(&self.description, error))?;
        let loads = self.plan.loads.iter();
        let loads = loads.map(|(kind, cpus)| RunningLoad::start(cpus, &[*kind]));
        let mut loads = loads.collect::<Result<Vec<_>, _>>()?;
        let measured: CpuSet = self.plan.lanes.iter().map(|lane| lane.cpu).collect();
        let door = cpuset_entry::door(session.root(), &self.machine, &measured);
        let join = |pid: u32| cpuset_entry::enter(session, door.as_deref(), pid);
        let keep = |result: &Measurement| {
            if let Some(result_file) = result_file {
                result_file.so_far(result);
            }
        };
        let mut request = MeasureRequest::new(self.plan.lanes.clone(), environment, stop);
        if door.is_some() {
            request.join = Some(&join);
        }
        request.on_intermediate = result_file.is_some().then_some(&keep);
        let mut ended_by_program = false;
        let result = measure::run(&request, session.root(), &mut |progress: &Progress| {
            if programs.tend() == RunContinuation::End {
                ended_by_program = true;
                stop.store(true, Ordering::Relaxed);
            }
            show(progress);
        });
        let programs = programs.end();
        let broken: Vec<LoadKind> = loads.iter_mut().flat_map(RunningLoad::broken).collect();
        drop(loads);
        let mut measurement = result?;
        let end = match ended_by_program {
            true => DescribedEnd::Program,
            false if !measurement.complete && stop.load(Ordering::Relaxed) => DescribedEnd::Interrupted,
            false => DescribedEnd::Samplers,
        };
        let notes = notes(&self.plan, &programs, &broken);
        measurement.findings.splice(0..0, notes);
        measurement.programs = programs;
        if end == DescribedEnd::Program {
            measurement.findings.push(end_note());
        }
        Ok(DescribedResult {
            measurement,
            end,
            elapsed: started.elapsed(),
        })
    }
}

impl DescribedResult {
    /// How often each program was started and how it ended, one line each.
    #[must_use]
    pub fn programs_text(&self) -> String {
        let mut text = String::new();
        for program in &self.measurement.programs {
            let last = program
                .last_failure
                .as_ref()
                .map_or(String::new(), |last| format!(", most recently {last}"));
            let _ = writeln!(
                text,
                "{}: started {} times, ended {} times with success, {} times otherwise{last}",
                program.name, program.started, program.succeeded, program.failed
            );
        }
        text
    }
}

/// Pins the conductor to its CPUs, and locks its memory where requested.
fn pin_and_lock(run: &DescribedRun) -> Result<(), Failure> {
    if let Some(cpus) = &run.plan.main {
        root::sched::set_affinity(0, &cpus.words()).map_err(|errno| {
            Failure::unable(
                "the program that starts the run cannot move to its CPUs",
                format!("CPU {cpus}: {}", std::io::Error::from_raw_os_error(errno)),
                "choose CPUs that this shell may use, or leave them out",
            )
        })?;
    }
    if run.description.main.memory == MemoryLock::Locked {
        rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT | rustix::mm::MlockAllFlags::FUTURE).map_err(
            |errno| {
                Failure::unable(
                    "the memory of the program that starts the run cannot be locked",
                    errno,
                    "run it as root, raise `ulimit -l`, or remove the setting from the file",
                )
            },
        )?;
    }
    Ok(())
}

/// The error for a program that cannot be started, with its place in the file.
fn not_started(description: &RunConfiguration, error: MeasureError) -> Failure {
    let MeasureError::Program { name, what, errno } = error else {
        return error.into();
    };
    let status = match errno {
        libc::EPERM => Status::Denied,
        _ => Status::Usage,
    };
    let written = description.programs.iter().find(|program| program.name.value == name);
    let place = written.map_or(String::new(), |program| {
        format!("line {}, column {}: ", program.command.line, program.command.column)
    });
    Failure::new(
        status,
        format!("{name} cannot be started"),
        format!("{place}cannot {what}: {}", std::io::Error::from_raw_os_error(errno)),
        "install it, correct the file, or remove the program from it",
    )
}

fn end_note() -> Note {
    let message = "it ended together with a program that ends the run".to_owned();
    note(NoteLevel::Info, "ended_by_program", "the run", message, "")
}

/// Problems of the load: the numbers then belong to a different run than the described one.
fn notes(plan: &RunPlan, programs: &[ProgramResult], broken: &[LoadKind]) -> Vec<Note> {
    let mut notes = plan.notes.clone();
    for kind in broken {
        let message = "it ended, although it never ends by itself: the disk is full, the loopback interface is down, or memory \
             is short";
        notes.push(note(
            NoteLevel::Warning,
            "load_ended",
            format!("load {}", kind.name()),
            message.to_owned(),
            "remove the cause, and measure again",
        ));
    }
    for program in programs.iter().filter(|program| program.throttled) {
        let last = program.last_failure.as_deref().unwrap_or("with success");
        let message = format!(
            "it ended repeatedly right after its start ({} times, most recently {last}), and was then started only \
             once a second",
            program.started
        );
        let fix = "run it by hand to see why it ends";
        notes.push(note(
            NoteLevel::Warning,
            "program_ends_at_once",
            &program.name,
            message,
            fix,
        ));
    }
    notes
}
