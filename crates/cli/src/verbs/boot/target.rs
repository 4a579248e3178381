//! What every verb that changes boot files begins with: which machine's, how far, and the lock under which.

use super::scene::Scene;
use super::verdict::ours;
use crate::reading::Reading;
use crate::{CommandError, Screen};
use apply::Lasting;
use apply::boot_line::{Runner, finish, note_state};
use boot::{After, BootState};
use plan::boot_check::Stage;
use root::Origin;
use session::{ChangeLock, Session};

/// Which machine, and how far.
#[derive(clap::Args)]
pub struct Target {
    /// Which machine.
    #[command(flatten)]
    pub reading: Reading,
    /// Show what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// How much of a change is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All of it.
    Real,
    /// Only what would be done.
    Shown,
}

impl Mode {
    /// All of it where the right to change was taken.
    #[must_use]
    pub fn under(changing: Option<&ChangeLock>) -> Mode {
        changing.map_or(Mode::Shown, |_| Mode::Real)
    }
}

impl Target {
    /// The machine, and the right to change it where that is wanted. A captured machine is only looked at.
    ///
    /// # Errors
    /// A change of a captured machine that is not a dry run; as [`begin`] and [`Scene::read`].
    pub fn begin<'s>(
        &self,
        session: &'s Session,
        screen: &mut Screen,
    ) -> Result<(Scene<'s>, Option<ChangeLock<'s>>), CommandError> {
        let changing = match (self.dry_run, session.root().origin()) {
            (true, _) => None,
            (false, Origin::Live) => Some(begin(session, screen)?),
            (false, Origin::Captured) => {
                return Err(CommandError::usage(
                    "a captured machine is not changed",
                    "its files are a copy",
                    "add --dry-run to see what would be done",
                ));
            }
        };
        Ok((Scene::read(session)?, changing))
    }
}

/// The right to change boot files; what an earlier call left unfinished is taken back first, and what this boot has of the
/// last change is noted.
///
/// # Errors
/// No permission, another quietcore at work, files that cannot be given back.
pub fn begin<'s>(session: &'s Session, screen: &mut Screen) -> Result<ChangeLock<'s>, CommandError> {
    let changing = session.lock_boot_files()?;
    if let Some(state) = session.lasting_state()? {
        let done = finish(&Runner::new(session.writable()?.clone()), &Lasting(&state))?;
        if let Some(done) = done {
            let paths = done.restored.join(", ");
            screen.note(&format!("an unfinished change was taken back: {paths}\n"));
            done.left
                .iter()
                .for_each(|line| screen.note(&format!("left alone: {line}\n")));
        }
        note_first_sight(&changing)?;
    }
    Ok(changing)
}

/// Notes on the disk what this boot has of the words that are ours, where it is another boot than that of the change, and
/// the first of which that can be said. Only verbs that change something may: `boot show` and `boot check` write nothing.
///
/// # Errors
/// A journal that cannot be read or written.
pub(crate) fn note_first_sight(changing: &ChangeLock) -> Result<(), CommandError> {
    let session = changing.session;
    let Some(state) = session.lasting_state()? else {
        return Ok(());
    };
    let scene = Scene::read(session)?;
    if scene.after == After::AnotherBoot
        && let Some(ours) = ours(&scene).first()
    {
        let seen = match ours.stage {
            Stage::Pending => BootState::Pending,
            Stage::Live => BootState::Live,
            Stage::Reverted => BootState::Reverted,
        };
        note_state(&Lasting(&state), changing.session.boot_id().as_deref(), seen)?;
    }
    Ok(())
}
