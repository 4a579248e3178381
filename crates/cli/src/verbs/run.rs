//! `run`: starts a program in the partition.

use crate::flags::PlacementArgs;
use root::{Failure, Status};
use session::Session;
use session::program_run::{RunOptions, run_program};
use std::time::Duration;
use terminal::Screen;

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct Args {
    /// Name of the partition
    #[arg(long, value_name = "NAME", default_value = "rt")]
    partition: String,
    /// Leave the program in its cgroup, which becomes the partition
    ///
    /// The cgroup keeps its limits, and everything in it gets the CPUs of the partition (cgroup v2, Linux 6.11 and later).
    #[arg(long)]
    in_place: bool,
    #[command(flatten)]
    placement: PlacementArgs,
    /// Run as this user (name or number), with the groups of the user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Run with this group (name or number)
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Use only the memory of these NUMA nodes
    #[arg(long, value_name = "NODES")]
    mems: Option<String>,
    /// Disable transparent huge pages for the program
    #[arg(long)]
    no_thp: bool,
    /// Forbid idle states of its CPUs that take longer to leave than this, such as 0us
    ///
    /// The limit applies while the program runs.
    #[arg(long, value_name = "TIME", value_parser = machine::parse_duration)]
    latency: Option<Duration>,
    /// With --latency: limit the idle states of all CPUs of the machine
    #[arg(long, requires = "latency")]
    latency_everywhere: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<std::ffi::OsString>,
}

/// Runs the program; without a parent it returns only when the program could not be started.
///
/// # Errors
/// No such partition, a refused placement, or a program that cannot be started; all with status 125 to 127.
pub fn run(args: &Args, session: &Session, _screen: &mut Screen) -> Result<Status, Failure> {
    run_program(
        session,
        &RunOptions {
            partition: args.partition.clone(),
            in_place: args.in_place,
            cpus: args.placement.cpus.clone(),
            pins: args.placement.pin.clone(),
            policy: args.placement.policy,
            nice: args.placement.nice,
            user: args.user.clone(),
            group: args.group.clone(),
            mems: args.mems.clone(),
            no_thp: args.no_thp,
            latency: args.latency,
            latency_everywhere: args.latency_everywhere,
            command: args.command.clone(),
        },
    )
}
