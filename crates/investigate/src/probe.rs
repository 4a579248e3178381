//! Runs a probe that spins on the watched CPUs and records every gap.

use crate::blame_options::{BlameOptions, BlameStage, DEFAULT_DURATION, GapDetail, ProbeOptions};
use crate::blame_report::{BlameReport, cure_context};
use crate::event_stream::{EventStream, KernelEvents, TraceEnd, TraceTarget, can_do_without, kernel_events};
use crate::function_tracer;
use crate::gap_join::{GapJoin, names};
use crate::hwlat_tracer::look_for_hwlat;
use crate::limit_gap::LimitGap;
use crate::other_cpus::BusyTimes;
use crate::probe_gaps::ProbeGaps;
use crate::trace_clock::TraceClock;
use crate::trace_settings::WatchSubject;
use blame::{BlameQuestion, BlameResult, CounterDeltas, RecordDecoder};
use events::{Formats, NoNames};
use machine::{CpuSet, Machine, nanoseconds};
use measure::{Break, BreakAction, Environment, MeasureRequest, Measurement, Note, NoteLevel};
use root::{Failure, Status};
use session::{Session, cpuset_entry, isolation};

/// The trace of a probe, or why it does not exist.
type ProbeTrace<'r, 'k> = Result<(EventStream<'r>, &'k KernelEvents<'k>), Failure>;

/// Runs a probe on the CPUs, and reports what had them during its gaps.
///
/// # Errors
/// CPUs that the machine lacks, a probe that cannot run there, a trace that cannot be read.
pub fn blame_probe(
    options: &BlameOptions,
    probe: &ProbeOptions,
    session: &Session,
    on_stage: &mut dyn FnMut(BlameStage),
) -> Result<BlameReport, Failure> {
    let machine = session.machine();
    let cpus = chosen_cpus(options, &machine, session)?;
    let environment = Environment::of(&machine, session.root(), env!("CARGO_PKG_VERSION"));
    let kernel = kernel_events(session, options, &machine, WatchSubject::Probe);
    let run = ProbeRun {
        options,
        probe,
        session,
        machine: &machine,
        cpus: &cpus,
    };
    let mut trace = run.start_trace(kernel.as_ref())?;
    let nothing = RecordDecoder::new(Formats::default());
    let mut join = run.join(kernel.as_ref().ok(), trace.as_mut().ok(), &nothing);
    let busy = BusyTimes::start(session);
    let measured = run.measure(&mut trace, &mut join, &environment, on_stage)?;
    let others = busy.end(session, &cpus);
    let trace = match trace {
        Ok((stream, kernel)) => Ok(stream.end(session, kernel, &mut join)?),
        Err(error) => Err(error),
    };
    let gaps = join.functions();
    let functions = match &trace {
        Ok(trace) => trace.functions.as_ref().map(|ended| ended.report(gaps)),
        Err(error) => options.functions.map(|_| function_tracer::without_tracer(error)),
    };
    let (mut answer, question) = join.finish();
    count(&mut answer, trace.as_ref().ok(), &measured);
    let (hwlat, hwlat_left_behind) = probe
        .hwlat
        .map(|time| look_for_hwlat(session, &machine, &cpus, time, probe.threshold))
        .unzip();
    let context = cure_context(session, machine, &cpus, &question);
    answer.cure(&context);
    let broke = trace.as_ref().ok().zip(measured.broke.as_ref());
    let found = broke.and_then(|(trace, broke)| LimitGap::longest(broke.cpu.0, broke.limit_ns, &answer, trace));
    let mut findings = errors(&measured);
    let has_failed = measured.broke.is_some() || !findings.is_empty();
    findings.extend(trace.as_ref().ok().and_then(|trace| trace.left_behind.clone()));
    findings.extend(hwlat_left_behind.flatten());
    let lists_all = options.detail == GapDetail::All && trace.is_ok();
    Ok(BlameReport {
        threshold_ns: Some(nanoseconds(probe.threshold)),
        others,
        context: lists_all.then_some(context),
        findings,
        found,
        functions,
        hwlat,
        is_complete: measured.complete,
        status: if has_failed { Status::Failed } else { Status::Done },
        ..BlameReport::new(answer, &trace, environment)
    })
}

fn errors(measured: &Measurement) -> Vec<Note> {
    let errors = measured.findings.iter();
    errors.filter(|note| note.level == NoteLevel::Error).cloned().collect()
}

fn chosen_cpus(options: &BlameOptions, machine: &Machine, session: &Session) -> Result<CpuSet, Failure> {
    if let Some(expression) = &options.cpus {
        return isolation::existing_cpus(expression, machine);
    }
    let (cpus, why) = isolation::default_cpus(machine)?;
    session.note(&format!("watching CPU {cpus} ({why}); --cpus chooses others\n"));
    Ok(cpus)
}

/// Adds the counters of each CPU for the time of the run.
fn count(answer: &mut BlameResult, trace: Option<&TraceEnd>, measured: &Measurement) {
    for cpu in &mut answer.cpus {
        let thread = measured.threads.iter().find(|thread| thread.cpu.0 == cpu.cpu);
        let smi = thread.and_then(|thread| thread.counts.iter().find(|count| count.name == "smi"));
        cpu.confirm(CounterDeltas {
            steal_ns: thread.and_then(|thread| thread.steal_ns),
            smi: smi.and_then(|count| count.count),
        });
        match trace {
            Some(trace) => cpu.lost_events = cpu.lost_events.max(trace.lost(cpu.cpu)),
            None => {
                let mut counted = measured.activity.iter().flat_map(|activity| &activity.cpus);
                if let Some(of) = counted.find(|of| of.cpu.0 == cpu.cpu) {
                    cpu.count(of);
                }
            }
        }
    }
}

/// The inputs of a run with a probe.
struct ProbeRun<'s, 'r> {
    options: &'r BlameOptions,
    probe: &'r ProbeOptions<'r>,
    session: &'s Session,
    machine: &'r Machine,
    cpus: &'r CpuSet,
}

impl<'s> ProbeRun<'s, '_> {
    /// Starts the trace, or reports why counters replace it.
    fn start_trace<'k>(&self, kernel: Result<&'k KernelEvents<'k>, &Failure>) -> Result<ProbeTrace<'s, 'k>, Failure> {
        let started = kernel.map_err(Failure::clone).and_then(|kernel| {
            let target = TraceTarget {
                machine: self.machine,
                cpus: self.cpus,
                watched: WatchSubject::Probe,
            };
            let stream = EventStream::start(self.session, self.options, &target, kernel)?;
            Ok((stream, kernel))
        });
        match started {
            Err(error) if !can_do_without(&error) => Err(error),
            started => Ok(started),
        }
    }

    /// The join of gaps with events. `nothing` reads the events of a kernel that cannot be traced.
    fn join<'k>(
        &self,
        kernel: Option<&'k KernelEvents<'k>>,
        trace: Option<&mut (EventStream<'s>, &'k KernelEvents<'k>)>,
        nothing: &'k RecordDecoder,
    ) -> GapJoin<'k> {
        let question = BlameQuestion {
            comms: names(self.session.root(), self.machine),
            keep: self.options.gaps_to_keep(self.cpus.len()),
            ..BlameQuestion::default()
        };
        let functions = trace.and_then(|(stream, kernel)| stream.functions(kernel, self.cpus));
        match kernel {
            Some(kernel) => GapJoin::new(&kernel.reader, &kernel.catalogue.names, question).with(functions),
            None => GapJoin::new(nothing, &NoNames, question),
        }
    }

    /// Measures, and drains the trace buffers during the measurement.
    fn measure(
        &self,
        trace: &mut ProbeTrace,
        join: &mut GapJoin,
        environment: &Environment,
        on_stage: &mut dyn FnMut(BlameStage),
    ) -> Result<Measurement, Failure> {
        let (root, limit_ns) = (self.session.root(), self.options.limit_ns());
        let stopper = match (&*trace, limit_ns) {
            (Ok((stream, _)), Some(_)) => Some(stream.stopper()?),
            _ => None,
        };
        let clock = trace.as_ref().map_or(TraceClock::MonoRaw, |(stream, _)| stream.clock());
        let gaps = ProbeGaps::new(clock);
        // Only a process in the partition may run on its CPUs.
        let door = cpuset_entry::door(root, self.machine, self.cpus);
        let enter = |pid: u32| cpuset_entry::enter(self.session, door.as_deref(), pid);
        let duration = self.options.duration.unwrap_or(DEFAULT_DURATION);
        let stop = session::stop_flag();
        let mut request = MeasureRequest::noise(self.cpus.clone(), duration, environment.clone(), stop);
        request.each(|lane| lane.threshold_ns = nanoseconds(self.probe.threshold));
        request.each(self.probe.policy);
        request.watcher = Some(&gaps);
        request.join = door.is_some().then_some(&enter);
        request.break_at = limit_ns.map(|limit_ns| Break {
            limit_ns,
            trip: stopper.as_ref().map(|stopper| stopper as &dyn BreakAction),
        });
        let mut has_started = false;
        let measured = measure::run(&request, root, &mut |now| {
            // This thread runs on other CPUs than the watched ones.
            let known_ns = gaps.hand_on(join, self.cpus.len());
            match trace {
                Ok((stream, _)) => stream.drain(known_ns, join),
                Err(_) => join.pass(known_ns),
            }
            if now.has_started && !has_started {
                has_started = true;
                on_stage(BlameStage::Started(self.cpus));
            }
            on_stage(BlameStage::Measuring(now));
        });
        on_stage(BlameStage::Measured);
        let measured = measured?;
        drop(request);
        // An instance with open files cannot be removed.
        drop(stopper);
        gaps.end(join);
        Ok(measured)
    }
}
