//! Shared start of all verbs that change boot files: the machine, dry run or not, and the lock.

use crate::reading::ReadingArgs;
use root::{Failure, Origin};
use session::boot_files::{BootScene, lock_boot_files};
use session::{ChangeLock, Session};

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
