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
    #[command(flatten)]
    placement: PlacementArgs,
    /// Run as this user (name or number of /etc/passwd), with the user's groups
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Run with this group (name or number of /etc/group)
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Take memory from these nodes only
    #[arg(long, value_name = "LIST")]
    mems: Option<String>,
    /// No transparent huge pages for it
    #[arg(long)]
    no_thp: bool,
    /// While it runs, none of its CPUs may idle so deeply that waking takes longer than this: 0us
    #[arg(long, value_name = "TIME", value_parser = machine::parse_duration)]
    latency: Option<Duration>,
    /// The latency is for all CPUs of the machine
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
