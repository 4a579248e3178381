//! `blame`: who interrupted these CPUs. A probe spins there and notes every gap, or a program is watched; the kernel's
//! events of the same time, on the same clock, say who had the CPU.

mod begun;
mod clock;
mod ground;
mod joined;
mod probe;
mod program;
mod stream;
mod told;
mod tracing;
mod until;
mod waits;

use super::measure::kept;
use super::measure::policy::{Sampler, parse_policy};
use crate::{CommandError, Screen, Status};
use ::blame::Keep;
use machine::parse_duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long, where nobody says it and nothing ends by itself.
const USUAL: Duration = Duration::from_secs(10);

/// Gaps that the screen draws.
const DRAWN: usize = 3;

/// Gaps that the file of `--gaps` holds at most: some 300 MB.
const MOST_GAPS: usize = 1_000_000;

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
    /// Memory for what was traced and is not attributed yet, in MiB: when it is full the kernel's buffers fill
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
    /// Show every row
    #[arg(long)]
    all: bool,
    /// Write every gap by itself to this file: a line of JSON each, with who had which piece of it (times of
    /// CLOCK_MONOTONIC_RAW, or of --clock). What a million does not hold is counted in the last line
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
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    for path in args.gaps.iter().chain(&args.html) {
        root::output::check(path).map_err(kept::refused)?;
    }
    match (args.pid, args.command.as_slice()) {
        (None, []) => probe::run(args, screen),
        (Some(pid), _) => program::of_pid(args, pid, screen),
        (None, _) => program::of_command(args, screen),
    }
}

impl Args {
    /// Which gaps are told one by one.
    fn keep(&self) -> Keep {
        match (&self.gaps, &self.html) {
            (None, None) => Keep::Longest(DRAWN),
            _ => Keep::First(MOST_GAPS),
        }
    }
}
