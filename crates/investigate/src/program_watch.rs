//! Runs the watch of a program from its start to the report.

use crate::blame_options::BlameOptions;
use crate::blame_report::{BlameReport, WatchedProgram, cure_context};
use crate::event_stream::{EventStream, KernelEvents, TraceEnd, TraceTarget, can_do_without};
use crate::gap_join::{GapJoin, names};
use crate::hotplug::Hotplug;
use crate::limit_gap::LimitGap;
use crate::trace_clock::TraceClock;
use crate::trace_settings::WatchSubject;
use crate::waits::{WaitMeasurement, WaitSubject};
use crate::watch_loop::{EndReason, watch_loop};
use blame::{BlameQuestion, BlameResult, BlameTarget, CounterDeltas, Gap, Victim};
use machine::{CpuSet, Machine};
use measure::{Environment, Note};
use observe::{Activity, CounterSample};
use root::{Failure, Root, Status};
use session::Session;
use session::own_process::leave_cpus;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The source of the answer: the trace, or the scheduler's statistics with the reason for the missing trace.
pub type WatchSource<'a, 'k> = Result<(EventStream<'a>, &'k KernelEvents<'k>, GapJoin<'k>), (Failure, WaitMeasurement)>;
/// The source at the end.
type WatchResult<'k> = Result<(TraceEnd<'k>, GapJoin<'k>), (Failure, WaitMeasurement)>;

/// The clock of the trace; without a trace the clock that is never slewed.
fn clock_of(source: &WatchSource) -> TraceClock {
    source
        .as_ref()
        .map_or(TraceClock::MonoRaw, |(stream, _, _)| stream.clock())
}

/// The end of the run. Times are on the trace clock.
struct ProgramEnd {
    start: u64,
    end: u64,
    /// The CPU counters for that time.
    activity: Activity,
    findings: Vec<Note>,
    program: WatchedProgram,
}

/// What is known at the start of the run.
pub struct ProgramRun<'a, 'k> {
    environment: &'a Environment,
    /// The trace, or its replacement.
    pub source: WatchSource<'a, 'k>,
    victim: Victim,
    before: CounterSample,
    /// On the trace clock.
    start: u64,
}

/// The context of a watched program.
pub struct ProgramWatch<'a> {
    /// The options of the run.
    pub options: &'a BlameOptions,
    /// The files of the machine.
    pub root: &'a Root,
    /// The machine at the start.
    pub machine: &'a Machine,
    /// The watched CPUs.
    pub cpus: CpuSet,
    /// Set by a signal.
    pub stop: &'static AtomicBool,
}

impl<'a> ProgramWatch<'a> {
    /// Starts the trace, or its replacement.
    ///
    /// # Errors
    /// The trace cannot start, and scheduler statistics cannot replace it.
    pub fn start_watch<'k>(
        &self,
        session: &'a Session,
        kernel: &'k Result<KernelEvents, Failure>,
        of: WaitSubject,
    ) -> Result<WatchSource<'a, 'k>, Failure> {
        leave_cpus(self.root, &self.cpus);
        let refused = |error: Failure| match can_do_without(&error) {
            true => Ok(Err((error, WaitMeasurement::start(self.root, of)))),
            false => Err(error),
        };
        let kernel = match kernel {
            Ok(kernel) => kernel,
            Err(error) => return refused(error.clone()),
        };
        let target = TraceTarget {
            machine: self.machine,
            cpus: &self.cpus,
            watched: WatchSubject::Program,
        };
        match EventStream::start(session, self.options, &target, kernel) {
            Ok(stream) => Ok(Ok((stream, kernel, self.join(kernel)))),
            Err(error) => refused(error),
        }
    }

    fn join<'k>(&self, kernel: &'k KernelEvents) -> GapJoin<'k> {
        let question = BlameQuestion {
            comms: names(self.root, self.machine),
            keep: self.options.gaps_to_keep(self.cpus.len()),
            ..BlameQuestion::default()
        };
        GapJoin::new(&kernel.reader, &kernel.catalogue.names, question).until(self.options.limit_ns())
    }

    /// A target on each CPU, from now on.
    fn targets(&self, victim: &Victim, start: u64) -> Vec<BlameTarget> {
        let target = |cpu: machine::CpuId| BlameTarget {
            cpu: cpu.0,
            victim: victim.clone(),
            window: Gap { start, end: u64::MAX },
            gaps: None,
        };
        self.cpus.iter().map(target).collect()
    }

    /// Marks the start of the run.
    pub fn start<'k>(
        &self,
        environment: &'a Environment,
        mut source: WatchSource<'a, 'k>,
        victim: Victim,
    ) -> ProgramRun<'a, 'k> {
        let (before, start) = (CounterSample::take(self.root), clock_of(&source).now_ns());
        if let Ok((_, _, join)) = &mut source {
            join.set_targets(self.targets(&victim, start));
        }
        ProgramRun {
            environment,
            source,
            victim,
            before,
            start,
        }
    }

    /// Drains the buffers until the program ends, the time is over, or the gap of `--break` is found. `program` returns the
    /// program at that time.
    ///
    /// # Errors
    /// A buffer that cannot be read.
    pub fn until(
        &self,
        session: &Session,
        mut started: ProgramRun<'a, '_>,
        duration: Option<Duration>,
        has_ended: impl FnMut() -> bool,
        program: impl FnOnce(EndReason) -> WatchedProgram,
    ) -> Result<BlameReport, Failure> {
        let mut hotplug = Hotplug::of(&self.cpus);
        let until = watch_loop(duration, self.stop, has_ended, || {
            hotplug.update(self.root);
            match &mut started.source {
                Ok((stream, _, join)) => {
                    stream.drain(u64::MAX, join);
                    if self.options.until.is_some() {
                        // A program that runs undisturbed produces no events.
                        join.pass(stream.joined_ns());
                    }
                    if join.found().is_some() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Err((_, waits)) => waits.update(self.root),
            }
            Ok::<_, Failure>(ControlFlow::Continue(()))
        })?;
        let end = clock_of(&started.source).now_ns();
        let seen = match started.source {
            Ok((stream, kernel, mut join)) => {
                self.cpus.iter().for_each(|cpu| join.ends(cpu.0, end));
                Ok((stream.end(session, kernel, &mut join)?, join))
            }
            Err(counted) => Err(counted),
        };
        let activity = observe::activity(&started.before, &CounterSample::take(self.root));
        let over = ProgramEnd {
            start: started.start,
            end,
            activity,
            findings: hotplug.note().into_iter().collect(),
            program: program(until),
        };
        self.report(session, started.environment, seen, &started.victim, over)
    }

    fn report(
        &self,
        session: &Session,
        environment: &Environment,
        seen: WatchResult,
        victim: &Victim,
        over: ProgramEnd,
    ) -> Result<BlameReport, Failure> {
        let (trace, hit, mut answer, question) = match seen {
            Ok((trace, join)) => {
                let hit = join.found();
                let (answer, question) = join.finish();
                (Ok(trace), hit, answer, question)
            }
            Err((error, waits)) => {
                let answer = waits.answer(&self.cpus, over.end.saturating_sub(over.start));
                let question = BlameQuestion {
                    targets: self.targets(victim, over.start),
                    ..BlameQuestion::default()
                };
                (Err(error), None, answer, question)
            }
        };
        count(&mut answer, trace.as_ref().ok(), &over.activity);
        answer.cure(&cure_context(session, self.machine.clone(), &self.cpus, &question));
        let found = match (&trace, hit) {
            (Ok(trace), Some((cpu, gap))) => {
                let limit_ns = self.options.limit_ns().unwrap_or(0);
                LimitGap::at(cpu, gap, limit_ns, &answer, trace)
            }
            _ => None,
        };
        let status = match hit.is_some() || !over.findings.is_empty() {
            true => Status::Failed,
            false => Status::Done,
        };
        let left_behind = trace.as_ref().ok().and_then(|trace| trace.left_behind.clone());
        Ok(BlameReport {
            program: Some(over.program),
            findings: over.findings.into_iter().chain(left_behind).collect(),
            found,
            status,
            ..BlameReport::new(answer, &trace, environment.clone())
        })
    }
}

/// Adds the counters of each CPU for the time of the run.
fn count(answer: &mut BlameResult, trace: Option<&TraceEnd>, activity: &Activity) {
    for cpu in &mut answer.cpus {
        let counted = activity.cpus.iter().find(|of| of.cpu.0 == cpu.cpu);
        match (trace, counted) {
            (Some(trace), _) => {
                cpu.confirm(CounterDeltas {
                    steal_ns: counted.and_then(|of| of.steal_ns),
                    smi: None,
                });
                cpu.lost_events = cpu.lost_events.max(trace.lost(cpu.cpu));
            }
            // A thread that waits in the run queue does not lose time to the hypervisor.
            (None, Some(counted)) => cpu.count(counted),
            (None, None) => {}
        }
    }
}
