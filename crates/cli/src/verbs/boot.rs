//! `boot`: the kernel's line in the boot loader's own files.

mod check;
mod clear;
mod confirm;
mod counting;
mod declaration;
mod once;
mod scene;
mod set;
mod show;
mod target;
mod trial;
mod verdict;
mod words;

pub(crate) use clear::clear_all;
pub(crate) use counting::{Counted, watch};
pub(crate) use declaration::line_covers;
pub(crate) use once::{choose_once, foresee_once, forget_once, is_once};
pub(crate) use scene::Scene;
pub(crate) use target::note_first_sight;
pub(crate) use verdict::{look_at, status, told};

use crate::{CommandError, Screen, Status};
use apply::ApplyError;
use boot::BootError;
use clap::Subcommand;

/// Arguments of `boot`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Show the loader, its entries, what of them is ours, and the line that is running
    Show(show::Args),
    /// Put words on the line; shows the difference first
    Set(set::Args),
    /// Start an entry with these words once, at the next boot; the default stays
    Trial(trial::Args),
    /// After a good boot of a trial: put its words on the default line
    Confirm(confirm::Args),
    /// Take our words out: the former bytes where nobody else changed anything, else exactly our words
    Clear(clear::Args),
    /// After the reboot: of each parameter whether it reached the kernel, was understood, and works
    Check(check::Args),
}

/// Runs it.
///
/// # Errors
/// What the verb says.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    match &args.what {
        What::Show(args) => show::run(args, screen),
        What::Set(args) => set::run(args, screen),
        What::Trial(args) => trial::run(args, screen),
        What::Confirm(args) => confirm::run(args, screen),
        What::Clear(args) => clear::run(args, screen),
        What::Check(args) => check::run(args, screen),
    }
}

impl From<BootError> for CommandError {
    fn from(error: BootError) -> CommandError {
        let status = match &error {
            BootError::Several { .. }
            | BootError::NotHere { .. }
            | BootError::Word { .. }
            | BootError::NoFallback { .. }
            | BootError::NoKernel { .. }
            | BootError::TooLong { .. } => Status::Usage,
            BootError::OtherLoader { .. } => Status::Conflict,
            BootError::NoLoader { refused, .. } if !refused.is_empty() => Status::Denied,
            BootError::NoLoader { .. }
            | BootError::NotText { .. }
            | BootError::NoPlace { .. }
            | BootError::NoTool { .. }
            | BootError::NotComputed { .. }
            | BootError::Disagree { .. }
            | BootError::Generated { .. }
            | BootError::Shown { .. }
            | BootError::NotTheOne { .. }
            | BootError::OneKernel { .. }
            | BootError::NoTrial { .. } => Status::Unable,
        };
        // Both kinds of error have the same three lines.
        let text = error.to_string();
        let mut lines = text.splitn(3, '\n').map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        CommandError {
            status,
            what: line(),
            why: line(),
            next: line(),
        }
    }
}

/// A conflict with what the journal says.
fn nothing_to_confirm(why: impl Into<String>) -> CommandError {
    ApplyError::NothingToConfirm { why: why.into() }.into()
}
