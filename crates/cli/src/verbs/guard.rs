//! `guard` (internal): the detached process that undoes everything when its parent dies or the time is up.

use apply::guard::{GuardTask, GuardTrigger, run_guard};
use apply::{ApplyError, Host};
use machine::CpuSet;
use root::{Failure, Status};
use session::Session;
use std::time::Duration;
use terminal::Screen;

/// Arguments of `guard`.
#[derive(clap::Args)]
pub struct Args {
    /// Ties the guard to one journal
    #[arg(long)]
    token: String,
    /// CPUs to sit on
    #[arg(long)]
    cpus: String,
    /// Time limit
    #[arg(long)]
    seconds: Option<u64>,
}

/// Runs the command.
///
/// # Errors
/// Errors of the undo.
pub fn run(args: &Args, session: &Session, _screen: &mut Screen) -> Result<Status, Failure> {
    let housekeeping = CpuSet::parse_list(&args.cpus)
        .map_err(|error| Failure::usage("guard", error.to_string(), "only quietcore itself starts it"))?;
    let watch = args.seconds.map_or(GuardTrigger::Parent, |seconds| {
        GuardTrigger::Deadline(Duration::from_secs(seconds))
    });
    let state = session.made_state()?;
    // Terminal and session signals are for the parent; the guard ends by its pipe or its clock.
    session::stop_flag();
    let mut lock = || {
        session
            .lock_existing()
            .map_err(|error| ApplyError::Busy { holder: error.why })
    };
    run_guard(
        &Host::new(session.writable()?.clone()),
        &*state,
        GuardTask {
            token: &args.token,
            housekeeping: &housekeeping,
            watch,
        },
        &mut lock,
    )?;
    Ok(Status::Done)
}
