//! `boot`: manages the kernel's command line in the boot loader's own files. Has the shared start of all commands that change
//! them: the machine, dry run or not, and the lock.

mod check;
mod clear;
mod confirm;
mod set;
mod show;
mod trial;
mod words;

use crate::reading::ReadingArgs;
use apply::ApplyError;
use clap::Subcommand;
use report::ChangeView;
use root::{Failure, Origin, Status};
use session::boot_files::{BootScene, lock_boot_files};
use session::{ChangeLock, Session};
use terminal::Screen;

/// Arguments of `boot`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: BootCommand,
}

#[derive(Subcommand)]
enum BootCommand {
    /// Show the boot loader, its entries, the parameters that quietcore added, and the running line
    Show(show::Args),
    /// Add parameters to the line of every boot; prints the difference first
    Set(set::Args),
    /// Add an entry with these parameters for the next boot only; the default stays
    Trial(trial::Args),
    /// After a good trial boot: add its parameters to the line of every boot
    Confirm(confirm::Args),
    /// Remove the parameters that quietcore added
    ///
    /// A file that no other program changed gets its former content; in another one, only those parameters are removed.
    Clear(clear::Args),
    /// After a reboot: check that each parameter reached the kernel, was understood, and works
    Check(check::Args),
}

/// Which machine, and how far.
#[derive(clap::Args)]
pub struct BootTarget {
    /// Which machine.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Print what would be done; write nothing
    #[arg(long)]
    dry_run: bool,
}

impl BootTarget {
    /// Opens the machine, and acquires the right to change it where requested. A captured machine is only read.
    ///
    /// # Errors
    /// A change of a captured machine that is not a dry run; as [`lock_boot_files`] and [`BootScene::read`].
    pub fn open<'s>(&self, session: &'s Session) -> Result<(BootScene<'s>, Option<ChangeLock<'s>>), Failure> {
        let changing = match (self.dry_run, session.root().origin()) {
            (true, _) => None,
            (false, Origin::Live) => Some(lock_boot_files(session)?),
            (false, Origin::Captured) => {
                return Err(Failure::usage(
                    "a captured machine cannot be changed",
                    "its files are a copy",
                    "add --dry-run to see the changes",
                ));
            }
        };
        Ok((BootScene::read(session)?, changing))
    }
}

/// Runs the command.
///
/// # Errors
/// Those of the command.
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

/// Prints the last line of a change and its document. `next` says what to do after it.
fn finish(shown: &ChangeView, next: &str, screen: &mut Screen) {
    let (end, document) = shown.outcome(next);
    screen.verdict(&end);
    screen.json(&document);
}
