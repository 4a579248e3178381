//! A program is watched as it is: a command that we start, or a process that runs already. Nothing of ours runs on its
//! CPUs; the kernel's events alone say when it ran, when it wanted to, and who had the CPU instead. Where there are none,
//! the scheduler's account of its threads says how long it waited.

use super::clock::Clock;
use super::joined::{Joined, names};
use super::stream::{Known, Stream, Traced, Watched, can_do_without, known};
use super::told::{Program, Told};
use super::until::Found;
use super::waits::{Of, Waits};
use super::{Args, USUAL, begun, ground};
use crate::program::attend::{Until, attend};
use crate::program::child::{self, Begun};
use crate::program::offline::{self, Hotplug};
use crate::program::place::place;
use crate::{CommandError, Screen, Status};
use blame::{Counted, Follow, Gap, Question, Target, Victim};
use machine::{CpuSet, Machine, TaskKey};
use measure::{Environment, Note};
use observe::{Activity, Sample};
use root::Root;
use session::Session;
use session::isolation;
use session::own_process::{allowed, step_aside};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where the answer comes from: the trace, or, with the reason why there is none, the scheduler's accounts.
type Source<'a, 'k> = Result<(Stream<'a>, &'k Known<'k>, Joined<'k>), (CommandError, Waits)>;
/// The same at the end.
type Seen<'k> = Result<(Traced<'k>, Joined<'k>), (CommandError, Waits)>;

/// The clock of the trace; where there is none the one that nobody slews.
fn clock_of(source: &Source) -> Clock {
    source
        .as_ref()
        .map_or(Clock::MonoRaw, |(stream, _, _)| stream.clock())
}

/// How the watching ended. Times are of the clock of the trace.
struct Over {
    start: u64,
    end: u64,
    /// What the CPUs' counters say of that time.
    activity: Activity,
    findings: Vec<Note>,
    program: Program,
}

/// What was known when the watching began.
struct Started<'a, 'k> {
    environment: &'a Environment,
    source: Source<'a, 'k>,
    victim: Victim,
    before: Sample,
    /// On the clock of the trace.
    start: u64,
}

/// What is watched, once it runs.
struct Watch<'a> {
    args: &'a Args,
    root: &'a Root,
    machine: &'a Machine,
    cpus: CpuSet,
    stop: &'static AtomicBool,
}

/// Starts the command and watches it.
pub fn of_command(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = session.root();
    let machine = session.machine();
    let asked = args
        .cpus
        .as_deref()
        .map(|cpus| isolation::existing_cpus(cpus, &machine))
        .transpose()?;
    let form = screen.form;
    let child = match child::start(&args.command, || place(session, &machine, asked.as_ref(), form))? {
        Begun::On(child) => child,
        Begun::Over(status) => return Ok(status),
    };
    let watch = Watch {
        args,
        root,
        machine: &machine,
        cpus: asked.unwrap_or_else(|| allowed(root)),
        stop: session::stop_flag(),
    };
    let environment = Environment::of(&machine, root, env!("CARGO_PKG_VERSION"));
    let known = known(session, args, &machine, Watched::Program);
    let source = watch.begin(session, &known, Of::Family(child.pid))?;
    let victim = Victim {
        pids: vec![child.pid.cast_signed()],
        follow: Follow::Children,
    };
    let started = watch.start(&environment, source, victim);
    let pid = match child.go() {
        Begun::On(pid) => pid,
        Begun::Over(status) => {
            if let Ok((stream, known, mut joined)) = started.source {
                let traced = stream.end(session, known, &mut joined)?;
                traced
                    .left_behind
                    .iter()
                    .for_each(|note| screen.note(&offline::line(note)));
            }
            return Ok(status);
        }
    };
    let ended = Cell::new(None);
    let has_ended = || {
        ended.set(child::ended(pid));
        ended.get().is_some()
    };
    let program = |until| Program {
        pid,
        name: args
            .command
            .first()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        ended: Some(ended.get().unwrap_or_else(|| child::end(pid))),
        until,
    };
    watch.until(session, started, args.duration, has_ended, program, screen)
}

/// Watches a process that runs, or one thread.
pub fn of_pid(session: &Session, args: &Args, pid: u32, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = session.root();
    let machine = session.machine();
    let gone = || {
        CommandError::usage(
            format!("there is no process {pid}"),
            "/proc does not show it",
            "`ps -eLo pid,tid,comm` lists processes and threads",
        )
    };
    let task = machine::tasks::read_one(root, pid).ok_or_else(gone)?;
    let threads = || match args.tid {
        true => machine::tasks::read_one(root, pid).into_iter().collect(),
        false => machine::tasks::read_process(root, task.pid),
    };
    let may: CpuSet = threads()
        .iter()
        .filter_map(|thread| thread.allowed.clone())
        .fold(CpuSet::new(), |all, cpus| all.or(&cpus))
        .and(&machine.topology.online);
    let cpus = match &args.cpus {
        None => may,
        Some(cpus) => {
            let asked = isolation::existing_cpus(cpus, &machine)?;
            if !asked.intersects(&may) {
                return Err(CommandError::usage(
                    format!("process {pid} may not run on CPU {asked}"),
                    format!("it may run on CPU {may}"),
                    "leave out --cpus, or name some of those",
                ));
            }
            asked.and(&may)
        }
    };
    let watch = Watch {
        args,
        root,
        machine: &machine,
        cpus,
        stop: session::stop_flag(),
    };
    let environment = Environment::of(&machine, root, env!("CARGO_PKG_VERSION"));
    let known = known(session, args, &machine, Watched::Program);
    let source = watch.begin(
        session,
        &known,
        match args.tid {
            true => Of::Thread(pid),
            false => Of::Process(task.pid),
        },
    )?;
    // What is born from now on is in the trace.
    let victim = Victim {
        pids: threads()
            .iter()
            .map(|thread| thread.key.tid.cast_signed())
            .collect(),
        follow: match args.tid {
            true => Follow::Nobody,
            false => Follow::Threads,
        },
    };
    let started = watch.start(&environment, source, victim);
    begun::say(screen, &watch.cpus);
    let duration = Some(args.duration.unwrap_or(USUAL));
    let program = |until| Program {
        pid,
        name: task.comm,
        ended: None,
        until,
    };
    watch.until(
        session,
        started,
        duration,
        || has_ended(root, task.key),
        program,
        screen,
    )
}

/// Whether a process has ended, or only waits to be buried; another one with its number is not it.
fn has_ended(root: &Root, key: TaskKey) -> bool {
    machine::tasks::read_stat(root, key.tid).is_none_or(|now| now.key != key || now.state == 'Z')
}

impl<'a> Watch<'a> {
    fn begin<'k>(
        &self,
        session: &'a Session,
        known: &'k Result<Known, CommandError>,
        of: Of,
    ) -> Result<Source<'a, 'k>, CommandError> {
        step_aside(self.root, &self.cpus);
        let refused = |error: CommandError| match can_do_without(&error) {
            true => Ok(Err((error, Waits::begin(self.root, of)))),
            false => Err(error),
        };
        let known = match known {
            Ok(known) => known,
            Err(error) => return refused(error.clone()),
        };
        match Stream::begin(
            session,
            self.args,
            self.machine,
            &self.cpus,
            Watched::Program,
            known,
        ) {
            Ok(stream) => Ok(Ok((stream, known, self.joined(known)))),
            Err(error) => refused(error),
        }
    }

    fn joined<'k>(&self, known: &'k Known) -> Joined<'k> {
        let question = Question {
            comms: names(self.root, self.machine),
            keep: self.args.keep(self.cpus.len()),
            ..Question::default()
        };
        let limit = self
            .args
            .until
            .map(|limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        Joined::new(&known.reader, &known.catalogue.names, question).until(limit)
    }

    /// On each CPU, from now on.
    fn targets(&self, victim: &Victim, start: u64) -> Vec<Target> {
        let target = |cpu: machine::CpuId| Target {
            cpu: cpu.0,
            victim: victim.clone(),
            window: Gap { start, end: u64::MAX },
            gaps: None,
        };
        self.cpus.iter().map(target).collect()
    }

    /// The watching begins now.
    fn start<'k>(
        &self,
        environment: &'a Environment,
        mut source: Source<'a, 'k>,
        victim: Victim,
    ) -> Started<'a, 'k> {
        let (before, start) = (Sample::take(self.root), clock_of(&source).now_ns());
        if let Ok((_, _, joined)) = &mut source {
            joined.begin(self.targets(&victim, start));
        }
        Started {
            environment,
            source,
            victim,
            before,
            start,
        }
    }

    /// Empties the buffers until it has ended, the time is over, or the gap of `--until` has come, and tells what was seen.
    /// What is watched is asked for when that is over.
    fn until(
        &self,
        session: &Session,
        mut started: Started<'a, '_>,
        duration: Option<Duration>,
        has_ended: impl FnMut() -> bool,
        program: impl FnOnce(Until) -> Program,
        screen: &mut Screen,
    ) -> Result<Status, CommandError> {
        let mut hotplug = Hotplug::of(&self.cpus);
        let until = attend(duration, self.stop, has_ended, || {
            hotplug.look(self.root);
            match &mut started.source {
                Ok((stream, _, joined)) => {
                    stream.drain(u64::MAX, joined);
                    if self.args.until.is_some() {
                        // A program that runs undisturbed has no event that says so.
                        joined.pass(stream.told_ns());
                    }
                    if joined.found().is_some() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Err((_, waits)) => waits.look(self.root),
            }
            Ok::<_, CommandError>(ControlFlow::Continue(()))
        })?;
        let end = clock_of(&started.source).now_ns();
        let seen = match started.source {
            Ok((stream, known, mut joined)) => {
                self.cpus.iter().for_each(|cpu| joined.ends(cpu.0, end));
                Ok((stream.end(session, known, &mut joined)?, joined))
            }
            Err(counted) => Err(counted),
        };
        let activity = observe::activity(&started.before, &Sample::take(self.root));
        let over = Over {
            start: started.start,
            end,
            activity,
            findings: hotplug.note().into_iter().collect(),
            program: program(until),
        };
        self.tell(session, started.environment, seen, &started.victim, &over, screen)
    }

    fn tell(
        &self,
        session: &Session,
        environment: &Environment,
        seen: Seen,
        victim: &Victim,
        over: &Over,
        screen: &mut Screen,
    ) -> Result<Status, CommandError> {
        let (traced, hit, mut answer, question) = match seen {
            Ok((traced, joined)) => {
                let hit = joined.found();
                let (answer, question) = joined.finish();
                (Ok(traced), hit, answer, question)
            }
            Err((error, waits)) => {
                let answer = waits.answer(&self.cpus, over.end.saturating_sub(over.start));
                let question = Question {
                    targets: self.targets(victim, over.start),
                    ..Question::default()
                };
                (Err(error), None, answer, question)
            }
        };
        for cpu in &mut answer.cpus {
            let counted = over.activity.cpus.iter().find(|of| of.cpu.0 == cpu.cpu);
            match (&traced, counted) {
                (Ok(traced), _) => {
                    cpu.confirm(Counted {
                        steal_ns: counted.and_then(|of| of.steal_ns),
                        smi: None,
                    });
                    cpu.lost_events = cpu.lost_events.max(traced.lost(cpu.cpu));
                }
                // Who waits in the queue is not the one from whom the hypervisor takes time.
                (Err(_), Some(counted)) => cpu.count(counted),
                (Err(_), None) => {}
            }
        }
        answer.cure(&ground::of(session, self.machine.clone(), &self.cpus, &question));
        let limit_ns = self
            .args
            .until
            .map_or(0, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        let found = match (&traced, hit) {
            (Ok(traced), Some((cpu, gap))) => Found::at(cpu, gap, limit_ns, &answer, traced),
            _ => None,
        };
        let mut told = Told::of(&answer, traced.as_ref(), environment, None, Some(&over.program));
        let left_behind = traced.as_ref().ok().and_then(|traced| traced.left_behind.clone());
        let findings: Vec<Note> = over.findings.iter().cloned().chain(left_behind).collect();
        told.findings = &findings;
        told.found = found.as_ref();
        told.show(self.args, traced.as_ref(), screen)?;
        Ok(match hit.is_some() || !over.findings.is_empty() {
            true => Status::Failed,
            false => Status::Done,
        })
    }
}
