//! `good-boot` (internal): waits, and takes the note of the boot attempt away, because the machine stayed up.

use crate::changing::{self, Changing};
use crate::{CommandError, Screen, Status};
use apply::{Host, Lasting, boot_attempt, guard};
use root::Live;
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
pub fn run(args: &Args, _screen: &mut Screen) -> Result<Status, CommandError> {
    // Stopping the unit must not end the wait: the machine goes on, and that is what is waited for.
    guard::detach(&Host::new(Live::host()));
    std::thread::sleep(args.after);
    let Some(changing) = Changing::existing()? else {
        return Ok(Status::Done);
    };
    if let Some(state) = changing::existing_lasting()? {
        boot_attempt::good(&Lasting(&state), changing.boot_id().as_deref())?;
    }
    Ok(Status::Done)
}
