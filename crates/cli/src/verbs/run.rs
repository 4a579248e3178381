//! `run`: start a program in the partition.
//!
//! The process places itself and then becomes the program, so that signals, terminal and exit status are the
//! program's own. Failures of ours are 125, 126 (not executable) and 127 (not found), as with env.

use crate::changing::Changing;
use crate::placement::{self, Policy};
use crate::{CommandError, Screen, Status};
use machine::Machine;
use root::Root;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct Args {
    /// Name of the partition
    #[arg(long, value_name = "NAME", default_value = "rt")]
    partition: String,
    /// CPUs of the partition to use; all of them without it
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Policy and priority: other, batch, idle, fifo:80, rr:50
    #[arg(long, value_name = "POLICY", value_parser = placement::parse_policy)]
    policy: Option<Policy>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<std::ffi::OsString>,
}

/// Runs it; returns only when the program could not be started.
///
/// # Errors
/// No such partition, a refused placement, a program that cannot be started; all with status 125 to 127.
pub fn run(args: &Args, _screen: &mut Screen) -> Result<Status, CommandError> {
    place(args).map_err(|error| CommandError { status: Status::Program(125), ..error })?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err(CommandError::usage("no program was named", "there is nothing to run", "write it after --"));
    };
    let error = Command::new(program).args(arguments).exec();
    let (code, next) = match error.kind() {
        ErrorKind::NotFound => (127, "check the name, or give its full path"),
        _ => (126, "check that it is an executable file for this machine"),
    };
    let name = program.to_string_lossy();
    Err(CommandError::new(Status::Program(code), format!("{name} was not started"), error.to_string(), next))
}

fn place(args: &Args) -> Result<(), CommandError> {
    let nothing = || {
        CommandError::new(
            Status::Unable,
            format!("there is no partition {}", args.partition),
            "nothing with that name is in force",
            "make it with `quietcore apply --cpus LIST`, see `quietcore history`",
        )
    };
    let changing = Changing::existing()?.ok_or_else(nothing)?;
    let root = Root::live();
    let machine = Machine::read(&root);
    let partition = placement::partition_in_force(&changing, &machine, &args.partition)?.ok_or_else(nothing)?;
    let cpus = match &args.cpus {
        None => None,
        Some(expression) => {
            let cpus = crate::intent::cpus(expression, &machine)?;
            if cpus.is_empty() || !cpus.is_subset(&partition.cpus) {
                return Err(CommandError::usage(
                    format!("CPU {cpus} is not in partition {}", args.partition),
                    format!("it has CPU {}", partition.cpus),
                    "choose among those",
                ));
            }
            Some(cpus)
        }
    };
    placement::join(&changing, &partition, std::process::id())?;
    if let Some(cpus) = cpus {
        placement::pin(&cpus)?;
    }
    if let Some(policy) = args.policy {
        placement::set_policy(policy)?;
    }
    Ok(())
}
