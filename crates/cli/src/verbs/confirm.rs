//! `confirm`: keep what was applied with a time limit.

use crate::changing::Changing;
use crate::{CommandError, Screen, Status};
use apply::ApplyError;
use serde_json::json;

/// Arguments of `confirm`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs it.
///
/// # Errors
/// Nothing that waits for a confirmation; no permission.
pub fn run(_args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let Some(changing) = Changing::existing()? else {
        return Err(ApplyError::NothingToConfirm { why: "nothing is in force".to_owned() }.into());
    };
    apply::guard::confirm(&changing.state)?;
    screen.json(&json!({ "schema": "quietcore.confirm/1", "confirmed": true }));
    screen.text("Kept. `quietcore undo` takes it back.\n");
    Ok(Status::Done)
}
