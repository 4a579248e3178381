//! `confirm`: keeps what was applied with a time limit, and marks a boot as good.

use apply::{ApplyError, DurableStorage, boot_attempt};
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use terminal::Screen;

/// Arguments of `confirm`.
#[derive(clap::Args)]
pub struct Args {}

/// JSON of `confirm`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ConfirmJson {
    /// Whether this boot was marked as good.
    boot: bool,
    /// Always `true`: what cannot be confirmed is an error.
    confirmed: bool,
    schema: &'static str,
}

/// Runs the command.
///
/// # Errors
/// Nothing waits for a confirmation, or no permission.
pub fn run(_args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let lasting = session.lasting_state()?;
    // This lock protects the state of this boot.
    let changing = match lasting {
        Some(_) => Some(session.lock()?),
        None => session.lock_existing()?,
    };
    let boot = match &lasting {
        Some(state) => boot_attempt::remove_record(&DurableStorage(state))?,
        None => false,
    };
    let confirmed = match &changing {
        Some(changing) => apply::guard::confirm(changing.state()),
        None => Err(ApplyError::NothingToConfirm {
            why: "no partition is active".to_owned(),
        }),
    };
    match confirmed {
        Err(ApplyError::NothingToConfirm { .. }) if boot => {}
        other => {
            other?;
            screen.verdict("Kept. `quietcore undo` undoes it.\n");
        }
    }
    if boot {
        screen.verdict("The declared partitions are applied again at the next boot.\n");
    }
    screen.json(&ConfirmJson {
        boot,
        confirmed: true,
        schema: "quietcore.confirm/1",
    });
    Ok(Status::Done)
}
