//! `blame`: reports what interrupted these CPUs.
//!
//! A probe spins there and records every gap, or a program is watched. The kernel's events of the same time, on the same
//! clock, show what had the CPU.

use crate::flags::{KprobesArgs, value_words};
use investigate::{
    BlameOptions, BlameReport, BlameStage, CommandOptions, FunctionOptions, GapDetail, Launch, ProbeOptions,
    ProcessOptions, ThreadScope, TraceClock, note_text,
};
use machine::{CpuSet, parse_duration};
use measure::{SamplerPolicy, parse_policy};
use report::RowLimit;
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use terminal::{ProgressBar, Screen};

/// Maximum rows per CPU without `--all`.
const MAX_ROWS: usize = 12;

/// The heading of options in the help.
const TRACERS: &str = "Tracers of the kernel";

/// Arguments of `blame`.
#[derive(clap::Args)]
pub struct Args {
    /// CPUs to watch [default: the isolated ones, or those where the program may run]
    ///
    /// A probe on a machine without isolated CPUs uses the core that `plan` would choose.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// How long to watch [default: 10s, or until the command ends]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Policy of the probe: other, fifo:N or rr:N
    ///
    /// fifo and rr show how the kernel limits real-time threads (throttling, the fair server).
    #[arg(long, value_name = "POLICY", default_value = "other", value_parser = parse_policy, conflicts_with_all = ["pid", "tid", "command"])]
    policy: SamplerPolicy,
    /// Shortest gap of the probe that counts
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration)]
    threshold: Duration,
    /// Watch the threads of this process, instead of a probe
    #[arg(long, value_name = "PID", conflicts_with_all = ["threshold", "command"])]
    pid: Option<u32>,
    /// Watch this thread, instead of a probe; without TID, the thread that --pid names
    #[arg(long, value_name = "TID", num_args = 0..=1, conflicts_with_all = ["threshold", "command"])]
    tid: Option<Option<u32>>,
    /// Memory for events that are not attributed yet, in MiB; half of it holds the gaps of --gaps and --page
    ///
    /// When it is full, the buffers of the kernel fill up, and events are lost.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    memory: u64,
    /// Trace buffer of each CPU, in KiB; events are lost and counted when it is full
    #[arg(long, value_name = "KIB", default_value_t = 2_048, value_parser = clap::value_parser!(u64).range(8..=1_048_576))]
    buffer: u64,
    /// Clock of gaps and events [default: mono_raw, else the next one that the trace has]
    #[arg(long, value_name = "CLOCK", value_enum)]
    clock: Option<ClockWord>,
    /// Stop at the first gap this long, with status 1
    ///
    /// The report shows what caused the gap and the events around it. A command is ended with SIGTERM.
    #[arg(long = "break", alias = "until", value_name = "TIME", value_parser = parse_duration)]
    until: Option<Duration>,
    /// Also report in which kernel functions the time of the longest gaps went (function_graph)
    ///
    /// This slows down every kernel function on all CPUs. A kernel without this tracer answers without it.
    #[arg(long, help_heading = TRACERS, conflicts_with_all = ["pid", "tid", "command"])]
    functions: bool,
    /// With --functions: trace calls only to this depth, which costs less [default: all]
    ///
    /// The time of deeper calls counts for their caller.
    #[arg(long, help_heading = TRACERS, value_name = "CALLS", requires = "functions", value_parser = clap::value_parser!(u32).range(1..=200))]
    depth: Option<u32>,
    /// Afterwards, look this long for time that hardware, firmware or a hypervisor takes (hwlat)
    ///
    /// The tracer disables interrupts on these CPUs for half of the time. A kernel without this tracer answers without it.
    #[arg(long, help_heading = TRACERS, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["pid", "tid", "command"])]
    hwlat: Option<Duration>,
    #[command(flatten)]
    kprobes: KprobesArgs,
    /// Print all rows
    #[arg(long)]
    all: bool,
    /// Write all gaps with causes to this file, as JSON lines
    ///
    /// Times are those of CLOCK_MONOTONIC_RAW, or of --clock. Gaps that half of --memory does not hold are counted in the last
    /// line.
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
    /// Also write the answer to this file as an HTML page, with drawings of the longest gaps
    #[arg(long, alias = "html", value_name = "FILE")]
    page: Option<PathBuf>,
    /// Start this command on the CPUs, and watch it and its children until it ends
    ///
    /// With --for, it is ended after that time (SIGTERM). With --json, its output goes to standard error.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "threshold")]
    command: Vec<OsString>,
}

value_words! {
    /// Clocks by name.
    #[value(rename_all = "snake_case")]
    pub enum ClockWord for TraceClock {
        /// `CLOCK_MONOTONIC_RAW`: it is never slewed (`trace_clock` has it since 4.2).
        MonoRaw,
        /// `CLOCK_MONOTONIC`
        Mono,
        /// `CLOCK_BOOTTIME`
        Boot,
    }
}

/// Runs the command.
///
/// # Errors
/// CPUs or processes that do not exist, a trace that cannot be read, or a file that cannot be written.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let process = args.process()?;
    for path in args.gaps.iter().chain(&args.page) {
        root::output::check_named(path)?;
    }
    let options = args.options();
    let report = match (process, args.command.as_slice()) {
        (None, []) => {
            let bar = ProgressBar::new(screen);
            let policy = |lane: &mut measure::Lane| args.policy.fill(lane);
            let probe = ProbeOptions {
                threshold: args.threshold,
                policy: &policy,
                hwlat: args.hwlat,
            };
            investigate::blame_probe(&options, &probe, session, &mut |stage| match stage {
                BlameStage::Started(cpus) => note_start(session, cpus),
                BlameStage::Measuring(progress) => bar.show(progress),
                BlameStage::Measured => bar.clear(),
            })?
        }
        (Some(process), _) => investigate::blame_process(&options, process, session, &mut |stage| {
            if let BlameStage::Started(cpus) = stage {
                note_start(session, cpus);
            }
        })?,
        (None, command) => {
            let command = CommandOptions {
                command: command.to_vec(),
                stdout: crate::command_output(screen.form),
            };
            match investigate::blame_command(&options, &command, session)? {
                Launch::Running(report) => report,
                Launch::Failed(status) => return Ok(status),
            }
        }
    };
    show(args, &report, session, screen)?;
    Ok(report.status)
}

/// Reports the start, so that a script that runs `blame` in the background knows when to start its program. Creating the
/// trace and the probe takes from milliseconds to seconds. On a terminal the bar shows it.
fn note_start(session: &Session, cpus: &CpuSet) {
    if !std::io::stderr().is_terminal() {
        session.note(&format!("watching CPU {cpus} from now on\n"));
    }
}

impl Args {
    /// The process or the thread to watch; `None` for a probe or a command.
    fn process(&self) -> Result<Option<ProcessOptions>, Failure> {
        let of = |pid, scope| Ok(Some(ProcessOptions { pid, scope }));
        match (self.pid, self.tid) {
            (None, None) => Ok(None),
            (Some(pid), None) => of(pid, ThreadScope::Process),
            (Some(tid), Some(None)) | (None, Some(Some(tid))) => of(tid, ThreadScope::Thread),
            (pid, _) => Err(Failure::usage(
                "the thread to watch is not clear",
                match pid {
                    Some(_) => "--pid names a process, and --tid a thread",
                    None => "--tid was given without a number",
                },
                "use --tid TID",
            )),
        }
    }

    fn options(&self) -> BlameOptions {
        BlameOptions {
            cpus: self.cpus.clone(),
            duration: self.duration,
            until: self.until,
            detail: match self.gaps.is_some() || self.page.is_some() {
                true => GapDetail::All,
                false => GapDetail::Longest,
            },
            memory_bytes: usize::try_from(self.memory << 20).unwrap_or(usize::MAX),
            buffer_kib: self.buffer,
            clock: self.clock.map(Into::into),
            functions: self.functions.then_some(FunctionOptions { depth: self.depth }),
            kprobes: self.kprobes.kprobes(),
        }
    }
}

/// Prints the report and writes the files.
///
/// # Errors
/// A file cannot be written.
fn show(args: &Args, report: &BlameReport, session: &Session, screen: &mut Screen) -> Result<(), Failure> {
    report.write_files(args.gaps.as_deref(), args.page.as_deref())?;
    // A real-time probe meets other gaps than an ordinary program.
    if parse_policy("other") == Ok(args.policy) {
        report.keep_prediction(session);
    }
    screen.json(report);
    let rows = if args.all {
        RowLimit::All
    } else {
        RowLimit::First(MAX_ROWS)
    };
    screen.text(&report::blame_text(&report.answer, rows, screen.style()));
    if let Some(found) = &report.found {
        screen.text(&found.text());
    }
    screen.text(&report::tracers_text(report.tracers()));
    screen.text(&report::blame_conclusion(&report.answer, screen.style()));
    if let Some(program) = &report.program {
        screen.note(&program.text());
    }
    for note in &report.findings {
        screen.note(&note_text(note));
    }
    for note in report.trace_notes(args.clock.map(Into::into)) {
        screen.note(&note);
    }
    if !report.is_complete && report.status == Status::Done {
        screen.note("interrupted: the answer covers only the time until then\n");
    }
    Ok(())
}
