//! `undo --all`: also removes what survives a restart: unit, script, links, configuration, records of boots.

use apply::installed::{InstalledPath, RemovalResult, remove, rename_to_backup};
use apply::{DurableStorage, Force, boot_attempt};
use plan::declared::PATH;
use root::state::LIB_DIR;
use root::{Failure, PathState};
use session::boot_files::clearing::clear_all;
use session::boot_service::reload_systemd;
use session::{ChangeLock, Session};

/// What exists besides the state of this boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemainingState {
    /// Nothing.
    Nothing,
    /// At least one file.
    Something,
}

/// Whether anything exists that survives a restart; does not check details.
///
/// # Errors
/// No permission, or an unsafe directory.
pub fn find_traces(session: &Session) -> Result<RemainingState, Failure> {
    let declared = session.writable()?.path_state(PATH)? != PathState::Nothing;
    Ok(match declared || session.lasting_state()?.is_some() {
        true => RemainingState::Something,
        false => RemainingState::Nothing,
    })
}

/// Removes all of these files. The caller holds the lock.
///
/// # Errors
/// A journal of installed files that cannot be read.
pub fn remove_all(session: &Session, changing: &ChangeLock, force: Force) -> Result<RemovalResult, Failure> {
    let live = session.writable()?;
    let mut removed = RemovalResult::default();
    if let Some(state) = session.lasting_state()? {
        let lasting = DurableStorage(&state);
        removed = remove(live, &lasting, force, &[PATH])?;
        clear_all(session, changing, &mut removed)?;
        if boot_attempt::remove_record(&lasting)? {
            removed.placed.push(missing(&format!("{LIB_DIR}/boot-attempt")));
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
            removed.placed.push(missing(LIB_DIR));
        }
    }
    // A user wrote this file by hand, so it is kept under a name that no program reads.
    if let Some(backup) = rename_to_backup(live, PATH)? {
        removed.placed.push(missing(PATH));
        removed.placed.push(InstalledPath {
            path: backup,
            outcome: "kept",
        });
    }
    Ok(removed)
}

fn missing(path: &str) -> InstalledPath {
    InstalledPath {
        path: path.to_owned(),
        outcome: "removed",
    }
}
