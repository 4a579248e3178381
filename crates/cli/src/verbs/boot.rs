//! `boot`: manages the kernel's command line in the boot loader's own files.

mod change_view;
mod check;
mod clear;
mod confirm;
mod set;
mod show;
mod target;
mod trial;
mod words;

use apply::ApplyError;
use clap::Subcommand;
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

/// Arguments of `boot`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: BootCommand,
}

#[derive(Subcommand)]
enum BootCommand {
    /// Show the loader, its entries, what of them is ours, and the line that is running
    Show(show::Args),
    /// Put words on the line; shows the difference first
    Set(set::Args),
    /// Start an entry with these words once, at the next boot; the default stays
    Trial(trial::Args),
    /// After a good boot of a trial: put its words on the default line
    Confirm(confirm::Args),
    /// Take our words out: the former bytes where no other program changed anything, else exactly our words
    Clear(clear::Args),
    /// After the reboot: of each parameter whether it reached the kernel, was understood, and works
    Check(check::Args),
}

/// Runs the command.
///
/// # Errors
/// What the verb says.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    match &args.what {
        BootCommand::Show(args) => show::run(args, session, screen),
        BootCommand::Set(args) => set::run(args, session, screen),
        BootCommand::Trial(args) => trial::run(args, session, screen),
        BootCommand::Confirm(args) => confirm::run(args, session, screen),
        BootCommand::Clear(args) => clear::run(args, session, screen),
        BootCommand::Check(args) => check::run(args, session, screen),
    }
}

/// The error where the journal has nothing to confirm.
fn nothing_to_confirm(why: impl Into<String>) -> Failure {
    ApplyError::NothingToConfirm { why: why.into() }.into()
}
