//! `undo`: take back what is in force.

use crate::{CommandError, Screen, Status};

/// Arguments of `undo`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs it.
pub fn run(_args: &Args, _screen: &mut Screen) -> Result<Status, CommandError> {
    Ok(Status::Done)
}
