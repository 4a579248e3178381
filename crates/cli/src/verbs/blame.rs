//! `blame`: who interrupted these CPUs. A probe spins there and notes every gap, or a program is watched; the kernel's
//! events of the same time, on the same clock, say who had the CPU.

mod begun;
mod clock;
mod functions;
mod ground;
mod hwlat;
mod joined;
mod probe;
mod program;
mod stream;
mod told;
mod trace_settings;
mod until;
mod waits;

use crate::kprobes_args::KprobesArgs;
use crate::result_file;
use crate::sampler_policy::{Sampler, parse_policy};
use crate::{CommandError, Screen, Status};
use ::blame::Keep;
use machine::parse_duration;
use session::Session;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long, where nobody says it and nothing ends by itself.
const USUAL: Duration = Duration::from_secs(10);

/// Gaps that the screen draws.
const DRAWN: usize = 3;

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
    policy: Sampler,
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
    clock: Option<clock::Clock>,
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

/// Runs it.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    for path in args.gaps.iter().chain(&args.html) {
        root::output::check(path).map_err(result_file::refused)?;
    }
    match (args.pid, args.command.as_slice()) {
        (None, []) => probe::run(args, session, screen),
        (Some(pid), _) => program::of_pid(session, args, pid, screen),
        (None, _) => program::of_command(session, args, screen),
    }
}

impl Args {
    /// Which gaps are told one by one. All of them share half of the memory, each CPU the same part.
    fn keep(&self, cpus: usize) -> Keep {
        match self.tells_all() {
            false => Keep::Longest(DRAWN),
            true => Keep::First((self.memory_bytes() / 2) / cpus.max(1)),
        }
    }

    /// Memory for what waits to be attributed: all of it, or half where gaps are kept.
    fn waiting_bytes(&self) -> usize {
        match self.tells_all() {
            false => self.memory_bytes(),
            true => self.memory_bytes() / 2,
        }
    }

    const fn tells_all(&self) -> bool {
        self.gaps.is_some() || self.html.is_some()
    }

    fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory << 20).unwrap_or(usize::MAX)
    }
}
