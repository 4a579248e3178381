//! `boot`: manages the kernel's command line in the boot loader's own files. Has the shared start of all verbs that change
//! them: the machine, dry run or not, and the lock.

mod change_view;
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

/// Which machine, and how far.
#[derive(clap::Args)]
pub struct BootTarget {
    /// Which machine.
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Show what would be done, and write nothing
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
                    "a captured machine is not changed",
                    "its files are a copy",
                    "add --dry-run to see what would be done",
                ));
            }
        };
        Ok((BootScene::read(session)?, changing))
    }
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
