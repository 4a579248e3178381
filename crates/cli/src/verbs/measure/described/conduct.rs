//! Conducts a described run: starts programs and loads, then the samplers, updates the screen, and writes the files at the
//! end.

use super::display::Display;
use super::settle::Settled;
use super::statistics;
use super::{ResultFile, is_systress};
use machine::nanoseconds;
use machine::{CpuSet, Machine, Nanos};
use measure::configuration::{Configuration, Memory};
use measure::load::{Load, LoadKind};
use measure::programs::{ProgramResult, Programs, Tended};
use measure::{Environment, Level, MeasureError, Measurement, Note, Progress, Request};
use root::{Failure, Status};
use session::{Session, cpuset_entry};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Instant;
use terminal::Screen;

/// Runs the description to its end, and writes all requested files.
///
/// # Errors
/// A program, a load or the measurement could not be started, or a file could not be written at the end.
pub fn conduct(
    session: &Session,
    described: &Configuration,
    settled: Settled,
    machine: &Machine,
    kept: Option<&ResultFile>,
    screen: &mut Screen,
) -> Result<Status, Failure> {
    let root = session.root();
    let stop = session::stop_flag();
    let begun = Instant::now();
    take_place(described, &settled)?;
    let environment = Environment::of(machine, root, env!("CARGO_PKG_VERSION"));
    let mut programs = Programs::start(&settled.orders).map_err(|error| not_started(described, error))?;
    let mut loads = Vec::new();
    for (kind, cpus) in &settled.loads {
        loads.push(Load::start(cpus, &[*kind])?);
    }
    let measured: CpuSet = settled.lanes.iter().map(|lane| lane.cpu).collect();
    let door = cpuset_entry::door(root, machine, &measured);
    let join = |pid: u32| {
        door.as_deref()
            .map_or(Ok(()), |door| cpuset_entry::enter(session, door, pid))
    };
    let mut request = Request::new(settled.lanes.clone(), environment, stop);
    if door.is_some() {
        request.join = Some(&join);
    }
    let keep = |result: &Measurement| {
        if let Some(kept) = kept {
            kept.so_far(result);
        }
    };
    request.keep = kept.is_some().then_some(&keep);
    let mut display = Display::new(described, &settled, root);
    let mut ended_by_program = false;
    let result = measure::run(&request, session.root(), &mut |progress: &Progress| {
        if programs.tend() == Tended::End {
            ended_by_program = true;
            stop.store(true, Ordering::Relaxed);
        }
        display.draw(progress, screen);
    });
    let programs = programs.end();
    let broken: Vec<LoadKind> = loads.iter_mut().flat_map(Load::broken).collect();
    drop(loads);
    let mut result = result?;
    result.findings.splice(0..0, notes(&settled, &programs, &broken));
    result.programs = programs;
    if ended_by_program {
        result.findings.push(note(
            "ended_by_program",
            Level::Info,
            "the run",
            "it ended with a program whose end is the run's",
        ));
    }
    display.end(&result, screen);
    let mut status = Status::Done;
    for (place, sampler) in described.samplers.iter().enumerate() {
        let Some(file) = &sampler.file else { continue };
        let own = |thread: usize| settled.sampler_of.get(thread) == Some(&place);
        match statistics::write(&result, own, sampler, &described.main.format, file) {
            Ok(()) => screen.text(&report::systress_statistics(&sampler.name.value, file)),
            Err(error) => status = screen.error(&error),
        }
    }
    screen.text(&format!("\n{}", report::systress_elapsed(begun.elapsed())));
    screen.text(&ends(&result.programs));
    if !is_systress(described) {
        screen.text(&format!(
            "\n{}",
            report::measurement_text(&result, report::Histograms::Drawn, screen.style())
        ));
    } else {
        for finding in result
            .findings
            .iter()
            .filter(|finding| finding.level != Level::Info)
        {
            screen.note(&format!("{}: {}\n", finding.subject, finding.message));
        }
    }
    screen.json(&result);
    if let Some(kept) = kept {
        kept.end(&result)?;
    }
    if !result.complete && stop.load(Ordering::Relaxed) && !ended_by_program {
        screen.note("interrupted: the result covers only the time until then\n");
    }
    let untrusted = result
        .findings
        .iter()
        .any(|finding| finding.level == Level::Error);
    Ok(match status {
        Status::Done if untrusted => Status::Failed,
        status => status,
    })
}

/// Describes what would run.
pub fn intended(described: &Configuration, settled: &Settled) -> String {
    let mut text = String::new();
    for (lane, place) in settled.lanes.iter().zip(&settled.sampler_of) {
        let name = described
            .samplers
            .get(*place)
            .map_or("", |sampler| sampler.name.value.as_str());
        let what = match lane.kind {
            measure::Kind::Latency | measure::Kind::All => {
                format!("wakes up every {}", Nanos(lane.interval_ns))
            }
            measure::Kind::Noise => format!("spins, gaps from {} count", Nanos(lane.threshold_ns)),
        };
        let life = described
            .samplers
            .get(*place)
            .and_then(|sampler| sampler.lifetime);
        let until = life.map_or("until it is interrupted".to_owned(), |life| {
            format!("for {}", Nanos(nanoseconds(life)))
        });
        let _ = writeln!(
            text,
            "{name}: CPU {}, {:?} {}: {what}, {until}",
            lane.cpu, lane.policy, lane.priority
        );
    }
    for (kind, cpus) in &settled.loads {
        let _ = writeln!(text, "load {}: CPU {cpus}", kind.name());
    }
    for order in &settled.orders {
        let place = order
            .cpus
            .as_ref()
            .map_or("everywhere".to_owned(), |cpus| format!("CPU {cpus}"));
        let _ = writeln!(text, "{}: {place}: {}", order.name, order.command.join(" "));
    }
    for note in &settled.notes {
        let _ = writeln!(text, "warning: {}; {}", note.message, note.fix);
    }
    text
}

/// Pins the conductor to its CPUs, and locks its memory where requested.
fn take_place(described: &Configuration, settled: &Settled) -> Result<(), Failure> {
    let refused = |what: &str, why: String, next: &str| Failure::new(Status::Unable, what, why, next);
    if let Some(cpus) = &settled.main {
        root::sched::set_affinity(0, cpus.words()).map_err(|errno| {
            refused(
                "the conductor cannot go to its CPUs",
                format!("CPU {cpus}: {}", std::io::Error::from_raw_os_error(errno)),
                "name CPUs that this shell may use, or leave them out",
            )
        })?;
    }
    if described.main.memory == Memory::Locked {
        rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT | rustix::mm::MlockAllFlags::FUTURE)
            .map_err(|errno| {
                refused(
                    "the conductor's memory cannot be locked",
                    errno.to_string(),
                    "run it as root, raise `ulimit -l`, or leave it out of the file",
                )
            })?;
    }
    Ok(())
}

/// The error for a program that cannot be started, with its place in the file.
fn not_started(described: &Configuration, error: MeasureError) -> Failure {
    let MeasureError::Program { name, what, errno } = error else {
        return error.into();
    };
    let status = match errno {
        libc::EPERM => Status::Denied,
        _ => Status::Usage,
    };
    let written = described
        .programs
        .iter()
        .find(|program| program.name.value == name);
    let place = written.map_or(String::new(), |program| {
        format!(
            "line {}, column {}: ",
            program.command.line, program.command.column
        )
    });
    Failure::new(
        status,
        format!("{name} cannot be started"),
        format!(
            "{place}cannot {what}: {}",
            std::io::Error::from_raw_os_error(errno)
        ),
        "install it, correct the file, or take the program out of it",
    )
}

fn note(id: &str, level: Level, subject: &str, message: &str) -> Note {
    Note {
        id: id.to_owned(),
        level,
        subject: subject.to_owned(),
        message: message.to_owned(),
        fix: String::new(),
    }
}

/// Problems of the load: the numbers then belong to a different run than the described one.
fn notes(settled: &Settled, programs: &[ProgramResult], broken: &[LoadKind]) -> Vec<Note> {
    let mut notes = settled.notes.clone();
    for kind in broken {
        let message = "it has ended, which it never does by itself: the disk is full, loopback is down, or memory is short";
        notes.push(Note {
            fix: "remove the cause, and measure again".to_owned(),
            ..note(
                "load_ended",
                Level::Warning,
                &format!("load {}", kind.name()),
                message,
            )
        });
    }
    for program in programs.iter().filter(|program| program.throttled) {
        let last = program.last_failure.as_deref().unwrap_or("with success");
        let message = format!(
            "it ended at once again and again ({} times, at last {last}), and was started only once a second then",
            program.started
        );
        notes.push(Note {
            fix: "run it by hand to see why it ends".to_owned(),
            ..note("program_ends_at_once", Level::Warning, &program.name, &message)
        });
    }
    notes
}

fn ends(programs: &[ProgramResult]) -> String {
    let mut text = String::new();
    for program in programs {
        let last = program
            .last_failure
            .as_ref()
            .map_or(String::new(), |last| format!(", at last {last}"));
        let _ = writeln!(
            text,
            "{}: started {} times, ended {} times with success, {} times otherwise{last}",
            program.name, program.started, program.succeeded, program.failed
        );
    }
    text
}
