//! `blame`: reports what interrupted these CPUs.
//!
//! A probe spins there and records every gap, or a program is watched. The kernel's events of the same time, on the same
//! clock, show what had the CPU.

mod report_view;

use crate::flags::{KprobesArgs, value_words};
use crate::progress_bar::ProgressBar;
use investigate::{
    BlameOptions, BlameStage, CommandOptions, FunctionOptions, GapDetail, Launch, ProbeOptions, ProcessOptions,
    ThreadScope, TraceClock,
};
use machine::{CpuSet, parse_duration};
use measure::{SamplerPolicy, parse_policy};
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use terminal::Screen;

/// Arguments of `blame`.
#[derive(clap::Args)]
pub struct Args {
    /// The CPUs. Without it: for a probe the isolated ones, else the core that `plan` would choose; for a program those
    /// where it may run
    #[arg(long, value_name = "EXPRESSION")]
    cpus: Option<String>,
    /// How long: 10s without it, or as long as the command runs
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Policy of the probe: other, or fifo:1 to fifo:99, rr:1 to rr:99, which meet what the kernel does against real-time
    /// threads (throttling, the fair server)
    #[arg(long, value_name = "POLICY", default_value = "other", value_parser = parse_policy, conflicts_with_all = ["pid", "command"])]
    policy: SamplerPolicy,
    /// The shortest gap of the probe that counts
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration)]
    threshold: Duration,
    /// Watch the threads of this process instead of a probe
    #[arg(long, value_name = "PID", conflicts_with_all = ["threshold", "command"])]
    pid: Option<u32>,
    /// Only the one thread that --pid names
    #[arg(long, requires = "pid")]
    tid: bool,
    /// Memory for what was traced and is not attributed yet, in MiB: when it is full the kernel's buffers fill. Half of it
    /// holds the gaps of --gaps and --html
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    memory: u64,
    /// The kernel's trace buffer of each CPU, in KiB: what comes when it is full is lost and counted
    #[arg(long, value_name = "KIB", default_value_t = 2_048, value_parser = clap::value_parser!(u64).range(8..=1_048_576))]
    buffer: u64,
    /// The clock on which gaps and events are joined; without it mono_raw, or the next one that the trace has
    #[arg(long, value_name = "NAME", value_enum)]
    clock: Option<ClockWord>,
    /// Stop at the first gap that is so long, and show who had it and the kernel's events around it; the exit status is then
    /// 1. A command is ended (SIGTERM)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    until: Option<Duration>,
    /// Trace the functions of the kernel on these CPUs as well (function_graph), and say in which of them the time of the
    /// longest gaps went. While it runs, every function of the kernel takes longer, on all CPUs. A kernel without that tracer
    /// answers without
    #[arg(long, conflicts_with_all = ["pid", "command"])]
    functions: bool,
    /// Follow calls only so deep, which costs less: the time of what is deeper counts for who called it. All without it
    #[arg(long, value_name = "CALLS", requires = "functions", value_parser = clap::value_parser!(u32).range(1..=200))]
    depth: Option<u32>,
    /// Afterwards, look so long for time that the hardware, the firmware or a hypervisor takes (the hwlat tracer): it stops
    /// interrupts on these CPUs for half of that time. A kernel without that tracer answers without
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["pid", "command"])]
    hwlat: Option<Duration>,
    #[command(flatten)]
    kprobes: KprobesArgs,
    /// Show every row
    #[arg(long)]
    all: bool,
    /// Write every gap by itself to this file: a line of JSON each, with who had which piece of it (times of
    /// CLOCK_MONOTONIC_RAW, or of --clock). What half of --memory does not hold is counted in the last line
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
    /// Write the answer as one page to this file: who, what would stop it, and the longest gaps drawn
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Start this command on the CPUs and watch it and its children, until it ends; with --for it is ended then (SIGTERM).
    /// With --json what it prints goes to standard error
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
    for path in args.gaps.iter().chain(&args.html) {
        root::output::check_named(path)?;
    }
    let options = args.options();
    let report = match (args.pid, args.command.as_slice()) {
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
        (Some(pid), _) => {
            let scope = match args.tid {
                true => ThreadScope::Thread,
                false => ThreadScope::Process,
            };
            let process = ProcessOptions { pid, scope };
            investigate::blame_process(&options, process, session, &mut |stage| {
                if let BlameStage::Started(cpus) = stage {
                    note_start(session, cpus);
                }
            })?
        }
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
    report_view::show(args, &report, screen)?;
    Ok(report.status)
}

/// Reports the start, so that a script that runs `blame` in the background knows when to start its program. Creating the
/// trace and the probe takes from milliseconds to seconds. On a terminal the bar shows it.
fn note_start(session: &Session, cpus: &CpuSet) {
    if !std::io::stderr().is_terminal() {
        session.note(&format!("CPU {cpus} is watched from now on\n"));
    }
}

impl Args {
    fn options(&self) -> BlameOptions {
        BlameOptions {
            cpus: self.cpus.clone(),
            duration: self.duration,
            until: self.until,
            detail: match self.gaps.is_some() || self.html.is_some() {
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
