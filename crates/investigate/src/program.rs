//! Watches a program without changing it: a command that we start, or a process that already runs. Nothing of ours runs on
//! its CPUs. The kernel's events alone show when it ran, when it was runnable, and what had the CPU instead. Without events,
//! the scheduler's statistics of its threads show how long it waited.

use crate::blame_options::{BlameOptions, BlameStage, CommandOptions, DEFAULT_DURATION, ProcessOptions, ThreadScope};
use crate::blame_report::{BlameReport, WatchedProgram};
use crate::child::{self, Launch};
use crate::event_stream::kernel_events;
use crate::hotplug::note_text;
use crate::program_watch::ProgramWatch;
use crate::trace_settings::WatchSubject;
use crate::waits::WaitSubject;
use blame::{FollowMode, Victim};
use machine::{CpuSet, Machine, Task, TaskKey};
use measure::Environment;
use root::{Failure, Root};
use session::Session;
use session::isolation::existing_cpus;
use session::own_process::allowed;
use std::cell::Cell;

/// Starts a command and watches it and its children until it ends. If a duration is given, the command is ended then (SIGTERM).
///
/// # Errors
/// CPUs that the machine lacks, a command that cannot be placed (also in its new process), a trace that cannot be read.
pub fn blame_command(
    options: &BlameOptions,
    command: &CommandOptions,
    session: &Session,
) -> Result<Launch<BlameReport>, Failure> {
    let root = session.root();
    let machine = session.machine();
    let named = options.cpus.as_deref();
    let named = named.map(|cpus| existing_cpus(cpus, &machine)).transpose()?;
    let child = match child::start(session, &machine, named.as_ref(), command)? {
        Launch::Running(child) => child,
        Launch::Failed(status) => return Ok(Launch::Failed(status)),
    };
    let watch = ProgramWatch {
        options,
        root,
        machine: &machine,
        cpus: named.unwrap_or_else(|| allowed(root)),
        stop: session::stop_flag(),
    };
    let environment = Environment::of(&machine, root, env!("CARGO_PKG_VERSION"));
    let kernel = kernel_events(session, options, &machine, WatchSubject::Program);
    let source = watch.start_watch(session, &kernel, WaitSubject::Family(child.pid))?;
    let victim = Victim {
        pids: vec![child.pid.cast_signed()],
        follow: FollowMode::Children,
    };
    let run = watch.start(&environment, source, victim);
    let pid = match child.go() {
        Launch::Running(pid) => pid,
        Launch::Failed(status) => {
            if let Ok((stream, kernel, mut join)) = run.source {
                let trace = stream.end(session, kernel, &mut join)?;
                let notes = trace.left_behind.iter();
                notes.for_each(|note| session.note(&note_text(note)));
            }
            return Ok(Launch::Failed(status));
        }
    };
    let ended = Cell::new(None);
    let has_ended = || {
        ended.set(child::exit_reason(pid));
        ended.get().is_some()
    };
    let name = command.command.first();
    let program = |until| WatchedProgram {
        pid,
        name: name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        ended: Some(ended.get().unwrap_or_else(|| child::end(pid))),
        until,
    };
    let report = watch.until(session, run, options.duration, has_ended, program)?;
    Ok(Launch::Running(report))
}

/// Watches a process that already runs, or one of its threads.
///
/// # Errors
/// The process does not exist or may not run on the CPUs; the trace cannot be read.
pub fn blame_process(
    options: &BlameOptions,
    process: ProcessOptions,
    session: &Session,
    on_stage: &mut dyn FnMut(BlameStage),
) -> Result<BlameReport, Failure> {
    let root = session.root();
    let machine = session.machine();
    let pid = process.pid;
    let task = machine::tasks::read_one(root, pid).ok_or_else(|| {
        Failure::usage(
            format!("there is no process {pid}"),
            "/proc does not show it",
            "`ps -eLo pid,tid,comm` lists processes and threads",
        )
    })?;
    let threads = || match process.scope {
        ThreadScope::Thread => machine::tasks::read_one(root, pid).into_iter().collect(),
        ThreadScope::Process => machine::tasks::read_process(root, task.pid),
    };
    let watch = ProgramWatch {
        options,
        root,
        machine: &machine,
        cpus: cpus_of_process(options, pid, &threads(), &machine)?,
        stop: session::stop_flag(),
    };
    let environment = Environment::of(&machine, root, env!("CARGO_PKG_VERSION"));
    let kernel = kernel_events(session, options, &machine, WatchSubject::Program);
    let (waits_of, follow) = match process.scope {
        ThreadScope::Thread => (WaitSubject::Thread(pid), FollowMode::NoThread),
        ThreadScope::Process => (WaitSubject::Process(task.pid), FollowMode::Threads),
    };
    let source = watch.start_watch(session, &kernel, waits_of)?;
    // Threads that start from now on are in the trace.
    let pids = threads().iter().map(|thread| thread.key.tid.cast_signed()).collect();
    let run = watch.start(&environment, source, Victim { pids, follow });
    on_stage(BlameStage::Started(&watch.cpus));
    let duration = Some(options.duration.unwrap_or(DEFAULT_DURATION));
    let program = |until| WatchedProgram {
        pid,
        name: task.comm,
        ended: None,
        until,
    };
    watch.until(session, run, duration, || has_ended(root, task.key), program)
}

/// The CPUs on which a process is watched: those where its threads may run, restricted by the options.
fn cpus_of_process(options: &BlameOptions, pid: u32, threads: &[Task], machine: &Machine) -> Result<CpuSet, Failure> {
    let allowed = threads.iter().filter_map(|thread| thread.allowed.as_ref());
    let may = CpuSet::union(allowed).and(&machine.topology.online);
    let Some(expression) = &options.cpus else {
        return Ok(may);
    };
    let named = existing_cpus(expression, machine)?;
    if !named.intersects(&may) {
        return Err(Failure::usage(
            format!("process {pid} may not run on CPU {named}"),
            format!("it may run on CPU {may}"),
            "leave out --cpus, or use some of those",
        ));
    }
    Ok(named.and(&may))
}

/// Whether a process has ended, or is a zombie. Another process that reuses its number counts as ended.
fn has_ended(root: &Root, key: TaskKey) -> bool {
    machine::tasks::read_stat(root, key.tid).is_none_or(|now| now.key != key || now.state == 'Z')
}
