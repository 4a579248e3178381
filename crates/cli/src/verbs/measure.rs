//! `measure`: measures wake-up latency, or gaps in a busy loop.

mod break_args;
mod claim;
mod kernel_tracer;
mod run_file;
mod waking;

use crate::foreign::{ForeignFormatArg, written_as};
use crate::page_args::PageArgs;
use break_args::BreakArgs;
use claim::parse_claim;
use clap::{Subcommand, ValueEnum};
use machine::nanoseconds;
use machine::parse_duration;
use machine::{CpuSet, Machine};
use measure::{
    Break, Claim, Environment, IdleStates, KernelTracer, MeasureRequest, Measurement, NoteLevel, SamplerPolicy,
    parse_policy,
};
use report::Histograms;
use root::{Failure, Status};
use session::isolation::{default_cpus, existing_cpus};
use session::{Session, cpuset_entry};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use terminal::{OutputFormat, Screen, Volume, with_progress};
use waking::WakeUpArgs;

/// Arguments of `measure`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: MeasureCommand,
}

#[derive(Subcommand)]
enum MeasureCommand {
    /// Measure how late a periodic thread wakes up (as cyclictest does)
    Latency {
        #[command(flatten)]
        shared: SharedMeasureArgs,
        #[command(flatten)]
        waking: WakeUpArgs,
        /// Measure with a tracer of the kernel instead of our own threads
        #[arg(long = "tracer", alias = "method", value_name = "TRACER", conflicts_with_all = [
            "loops", "distance", "clock", "policy", "aligned", "secaligned", "relative", "break_trace", "trace_out",
        ])]
        method: Option<kernel_tracer::LatencyTracer>,
    },
    /// Measure how often and how long a thread that never sleeps is interrupted (as oslat does)
    Noise {
        #[command(flatten)]
        shared: SharedMeasureArgs,
        #[command(flatten)]
        spinning: NoiseArgs,
        /// Scheduling policy: other, fifo:1 to fifo:99, or rr:1 to rr:99
        ///
        /// fifo and rr show how the kernel throttles real-time threads.
        #[arg(long, value_name = "POLICY", default_value = "other", value_parser = parse_policy)]
        policy: SamplerPolicy,
        /// Measure with a tracer of the kernel instead of our own threads
        #[arg(long = "tracer", alias = "method", value_name = "TRACER", conflicts_with_all = ["policy", "break_trace", "trace_out", "gaps"])]
        method: Option<kernel_tracer::NoiseTracer>,
    },
    /// Measure latency and noise at the same time, with one clock
    ///
    /// On each CPU, a periodic thread runs above one that never sleeps. Gaps that our own wake-ups cause are counted separately.
    All {
        #[command(flatten)]
        shared: SharedMeasureArgs,
        #[command(flatten)]
        waking: WakeUpArgs,
        #[command(flatten)]
        spinning: NoiseArgs,
    },
    /// Run what a file describes: samplers, loads and programs (also a file of systress)
    Run(run_file::Args),
}

impl MeasureCommand {
    /// Adds the options of the question to a request.
    fn fill<'a>(&'a self, request: &mut MeasureRequest<'a>) -> Result<(), Failure> {
        if let MeasureCommand::Latency { waking, .. } | MeasureCommand::All { waking, .. } = self {
            waking.fill(request);
        }
        if let MeasureCommand::Noise { spinning, .. } | MeasureCommand::All { spinning, .. } = self {
            spinning.fill(request)?;
        }
        if let MeasureCommand::Noise { policy, .. } = self {
            request.each(|lane| policy.fill(lane));
        }
        Ok(())
    }

    /// The tracer of the kernel that measures, with its period or threshold.
    fn tracer(&self) -> Option<(KernelTracer, Duration)> {
        match self {
            MeasureCommand::Latency { waking, method, .. } => method.map(|method| (method.into(), waking.interval())),
            MeasureCommand::Noise { spinning, method, .. } => method.map(|method| (method.into(), spinning.threshold)),
            MeasureCommand::All { .. } | MeasureCommand::Run(_) => None,
        }
    }
}

#[derive(clap::Args)]
struct NoiseArgs {
    /// Shortest gap that counts, from 100ns
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration)]
    threshold: Duration,
    /// Write every gap to this file; `report` reads it
    ///
    /// One line per gap: start on CLOCK_MONOTONIC, CPU, length, and whether quietcore caused it. Gaps that the disk is too
    /// slow for are counted in the last line.
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
}

impl NoiseArgs {
    /// Adds the options to a request, after checking that the file can be written.
    fn fill<'a>(&'a self, request: &mut MeasureRequest<'a>) -> Result<(), Failure> {
        request.each(|lane| lane.threshold_ns = nanoseconds(self.threshold));
        if let Some(path) = &self.gaps {
            root::output::check_named(path)?;
            request.gaps = Some(path);
        }
        Ok(())
    }
}

#[derive(clap::Args)]
struct SharedMeasureArgs {
    /// CPUs to measure [default: isolated, else one core]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// How long to measure
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// Write the result to this file as JSON
    ///
    /// The file is replaced every second during the run, so an aborted run keeps its results ("complete" is then false).
    /// Where the disk can only interrupt a measured CPU, name a file in memory (/dev/shm, /run).
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgs,
    /// Print the result in the format of another tool; an unknown word lists the formats
    #[arg(long, value_name = "FORMAT", value_parser = written_as, conflicts_with = "json")]
    format: Option<ForeignFormatArg>,
    /// Stop at a latency or gap this long, with status 1
    #[arg(long = "break", value_name = "TIME", value_parser = parse_duration)]
    limit: Option<Duration>,
    #[command(flatten)]
    trace: BreakArgs,
    /// Report whether the run proves a limit: 50us:1e-6
    ///
    /// The limit holds if wake-ups later than LIMIT have a probability of at most SHARE, or if longer gaps have a rate of
    /// at most SHARE per second. The result also says how long a run would have to be.
    #[arg(long, value_name = "LIMIT:SHARE", value_parser = parse_claim)]
    claim: Option<Claim>,
    /// Whether to keep the CPUs out of deep idle states [default: hold]
    ///
    /// If `hold` is requested and not permitted, the measurement ends (status 3). The default continues and the result
    /// says so.
    #[arg(long, value_name = "WHAT")]
    idle: Option<IdleArg>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IdleArg {
    /// Prevent them: measures the kernel, not the wake-up of the hardware
    Hold,
    /// Do not change them
    Leave,
}

/// Without the option, a refusal is a finding in the result.
fn idle_states(idle: Option<IdleArg>) -> IdleStates {
    match idle {
        None => IdleStates::Hold,
        Some(IdleArg::Hold) => IdleStates::Require,
        Some(IdleArg::Leave) => IdleStates::Leave,
    }
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let (request, shared): (fn(_, _, _, _) -> _, _) = match &args.what {
        MeasureCommand::Run(args) => return run_file::run(args, session, screen),
        MeasureCommand::Latency { shared, .. } => (MeasureRequest::latency, shared),
        MeasureCommand::Noise { shared, .. } => (MeasureRequest::noise, shared),
        MeasureCommand::All { shared, .. } => (MeasureRequest::all, shared),
    };
    // First, so that a path that cannot be written costs no time.
    let result_file = shared.page.result_file(shared.out.as_deref())?;
    let machine = session.machine();
    let cpus = chosen_cpus(shared, &machine, screen)?;
    let environment = Environment::of(&machine, session.root(), env!("CARGO_PKG_VERSION"));
    let stop = session::stop_flag();
    let door = cpuset_entry::door(session.root(), &machine, &cpus);
    let join = |pid: u32| cpuset_entry::enter(session, door.as_deref(), pid);
    let mut request: MeasureRequest = request(cpus, shared.duration, environment, stop);
    args.what.fill(&mut request)?;
    request.each(|lane| lane.claim = shared.claim);
    let tracer = args.what.tracer();
    let trace = match shared.limit {
        Some(_) if tracer.is_none() => shared.trace.trace(shared.out.as_deref()),
        _ => None,
    };
    let cpus = machine.topology.online.len();
    let trace = trace.map(|trace| trace.prepare(session, cpus)).transpose()?;
    request.break_at = shared.limit.map(|limit| Break {
        limit_ns: nanoseconds(limit),
        trip: trace.as_ref().and_then(|trace| trace.as_ref().ok()?.trip()),
    });
    request.idle_states = idle_states(shared.idle);
    if let Some(door) = &door {
        request.join = Some(&join);
        if screen.volume == Volume::Verbose {
            screen.note(&format!("the sampler enters the partition through {door}\n"));
        }
    }
    let keep = |result: &Measurement| {
        if let Some(result_file) = &result_file {
            result_file.so_far(result);
        }
    };
    request.on_intermediate = result_file.is_some().then_some(&keep);
    let mut result = sample(&request, tracer, session, screen)?;
    match trace {
        Some(Ok(trace)) => trace.end(session, &mut result),
        Some(Err(note)) => result.findings.push(note),
        None => {}
    }
    show(&result, shared, screen);
    if let Some(result_file) = &result_file {
        result_file.end(&result)?;
        if let Some(page) = result_file.page() {
            screen.note(&format!("the page: {}\n", page.display()));
        }
    }
    if !result.complete && stop.load(Ordering::Relaxed) {
        screen.note(INTERRUPTED);
    }
    Ok(status(&result))
}

/// Measures with our samplers, or with a tracer of the kernel and its period or threshold.
fn sample(
    request: &MeasureRequest,
    tracer: Option<(KernelTracer, Duration)>,
    session: &Session,
    screen: &Screen,
) -> Result<Measurement, Failure> {
    let root = session.root();
    let Some((method, time)) = tracer else {
        return with_progress(screen, |progress| measure::run(request, root, progress));
    };
    let mut instance = tracing::tracer::start(session, method, request, time)?;
    let pipe = instance.file("trace_pipe");
    let mut result = with_progress(screen, |progress| {
        measure::method::listen(request, method, &pipe, root, progress)
    })?;
    result.findings.extend(instance.end());
    Ok(result)
}

/// The note on a result that a signal has cut short.
const INTERRUPTED: &str = "interrupted: the result covers only the time until then\n";

/// The exit status of a result: a limit that was exceeded, or numbers that cannot be trusted, are a failure.
fn status(result: &Measurement) -> Status {
    let mut findings = result.findings.iter();
    match result.broke.is_some() || findings.any(|finding| finding.level == NoteLevel::Error) {
        true => Status::Failed,
        false => Status::Done,
    }
}

/// Prints a result.
fn show(result: &Measurement, shared: &SharedMeasureArgs, screen: &mut Screen) {
    match (&shared.format, screen.form) {
        (Some(format), _) => {
            let (text, left_out) = format.write(&formats::of_measurement(result.clone()));
            screen.stream(|out| out.write_all(text.as_bytes()));
            if let Some(left_out) = left_out {
                screen.note(&format!("{left_out}\n"));
            }
        }
        (None, OutputFormat::Json) => screen.json(result),
        (None, OutputFormat::Text) => screen.text(&report::measurement_text(result, Histograms::Drawn, screen.style())),
    }
}

/// The CPUs of `--cpus`; otherwise the isolated CPUs, which an affinity mask would hide; otherwise one core.
fn chosen_cpus(shared: &SharedMeasureArgs, machine: &Machine, screen: &mut Screen) -> Result<CpuSet, Failure> {
    if let Some(expression) = &shared.cpus {
        return existing_cpus(expression, machine);
    }
    let (cpus, why) = default_cpus(machine)?;
    screen.note(&format!("measuring CPU {cpus} ({why}); --cpus chooses others\n"));
    Ok(cpus)
}
