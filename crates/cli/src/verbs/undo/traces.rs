//! `undo --all`: also removes what survives a restart: unit, script, links, configuration, records of boots.

use apply::installed::{Placed, Removed, put_aside, remove};
use apply::{Force, Lasting, boot_attempt};
use plan::declared::PATH;
use root::state::LIB_DIR;
use root::{Failure, Standing};
use session::boot_files::clearing::clear_all;
use session::boot_service::reload_systemd;
use session::{ChangeLock, Session};

/// What exists besides the state of this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreseen {
    /// Nothing.
    Nothing,
    /// At least one file.
    Something,
}

/// Whether anything exists that survives a restart; does not check details.
///
/// # Errors
/// No permission, or an unsafe directory.
pub fn foreseen(session: &Session) -> Result<Foreseen, Failure> {
    let declared = session.writable()?.standing(PATH)? != Standing::Nothing;
    Ok(match declared || session.lasting_state()?.is_some() {
        true => Foreseen::Something,
        false => Foreseen::Nothing,
    })
}

/// Removes all of these files. The caller holds the lock.
///
/// # Errors
/// A journal of installed files that cannot be read.
pub fn remove_all(session: &Session, changing: &ChangeLock, force: Force) -> Result<Removed, Failure> {
    let live = session.writable()?;
    let mut removed = Removed::default();
    if let Some(state) = session.lasting_state()? {
        let lasting = Lasting(&state);
        removed = remove(live, &lasting, force, &[PATH])?;
        clear_all(session, changing, &mut removed)?;
        if boot_attempt::forget(&lasting)? {
            removed.placed.push(gone(&format!("{LIB_DIR}/boot-attempt")));
        }
        if !removed.placed.is_empty() {
            reload_systemd(session.root());
        }
        // Undoing the boot line may have left this directory empty.
        let state = session.lasting_state()?;
        if let Some(state) = state
            && state.names("")?.is_empty()
            && state.discard()?
        {
            removed.placed.push(gone(LIB_DIR));
        }
    }
    // A user wrote this file by hand, so it is kept under a name that no program reads.
    if let Some(kept) = put_aside(live, PATH)? {
        removed.placed.push(gone(PATH));
        removed.placed.push(Placed {
            path: kept,
            outcome: "kept",
        });
    }
    Ok(removed)
}

fn gone(path: &str) -> Placed {
    Placed {
        path: path.to_owned(),
        outcome: "removed",
    }
}
