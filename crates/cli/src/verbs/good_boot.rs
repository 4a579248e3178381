//! `good-boot` (internal): waits, then removes the record of the boot attempt, because the machine stayed up.

use apply::{DurableStorage, Host, boot_attempt, guard};
use root::{Failure, Status};
use session::Session;
use std::time::Duration;
use terminal::Screen;

/// Arguments of `good-boot`.
#[derive(clap::Args)]
pub struct Args {
    /// How long
    #[arg(long, value_parser = machine::parse_duration)]
    after: Duration,
}

/// Runs the command.
///
/// # Errors
/// The record cannot be removed. It stays, and the next boot applies nothing.
pub fn run(args: &Args, session: &Session, _screen: &mut Screen) -> Result<Status, Failure> {
    // Stopping the unit must not end the wait, because the machine keeps running.
    guard::detach(&Host::new(session.writable()?.clone()));
    std::thread::sleep(args.after);
    let Some(changing) = session.lock_existing()? else {
        return Ok(Status::Done);
    };
    if let Some(state) = session.lasting_state()? {
        boot_attempt::good(&DurableStorage(&state), changing.session.boot_id().as_deref())?;
    }
    Ok(Status::Done)
}
