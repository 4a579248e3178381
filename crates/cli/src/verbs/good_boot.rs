//! `good-boot` (internal): waits, and takes the note of the boot attempt away, because the machine stayed up.

use crate::{CommandError, Screen, Status};
use apply::{Host, Lasting, boot_attempt, guard};
use session::Session;
use std::time::Duration;

/// Arguments of `good-boot`.
#[derive(clap::Args)]
pub struct Args {
    /// How long
    #[arg(long, value_parser = machine::parse_duration)]
    after: Duration,
}

/// Runs it.
///
/// # Errors
/// A note that cannot be taken away: it stays, and the next boot leaves the machine alone.
pub fn run(args: &Args, session: &Session, _screen: &mut Screen) -> Result<Status, CommandError> {
    // Stopping the unit must not end the wait: the machine goes on, and that is what is waited for.
    guard::detach(&Host::new(session.writable()?.clone()));
    std::thread::sleep(args.after);
    let Some(changing) = session.lock_existing()? else {
        return Ok(Status::Done);
    };
    if let Some(state) = session.lasting_state()? {
        boot_attempt::good(&Lasting(&state), changing.session.boot_id().as_deref())?;
    }
    Ok(Status::Done)
}
