//! The right to change the machine: the lock of the state directory, and signals held while it is taken.

use crate::Session;
use crate::signals::HeldSignals;
use apply::{ApplyError, Force, Host, Undone, Which};
use root::state::{Lock, LockFile, StateDir};
use root::{Failure, RootError, Status};
use std::sync::Arc;
use std::time::Duration;

/// How long a command waits for another quietcore that has the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The machine and our state, locked until it is dropped.
pub struct ChangeLock<'s> {
    /// The session that it belongs to.
    pub session: &'s Session,
    /// The machine.
    pub host: Host,
    /// What programs that died had limited ([`apply::latency`]) or traced ([`apply::tracing`]) and another program changed
    /// since: left alone.
    pub left: Vec<String>,
    state: Arc<StateDir>,
    _lock: Lock,
    // Last, so that a signal that was held finds the lock free.
    _held: Option<HeldSignals>,
}

impl Session {
    /// Makes the state directory where needed, and locks it.
    ///
    /// # Errors
    /// No permission, an unsafe directory, another quietcore at work, or a captured machine.
    pub fn lock(&self) -> Result<ChangeLock<'_>, Failure> {
        self.locked(self.made_state()?)
    }

    /// As [`Session::lock`], however long another quietcore has the lock: for an undo that must happen. Each wait is reported.
    ///
    /// # Errors
    /// No permission, an unsafe directory, or a captured machine.
    pub fn lock_however_long(&self) -> Result<ChangeLock<'_>, Failure> {
        let state = self.made_state()?;
        let lock = loop {
            match state.lock(LOCK_WAIT) {
                Err(error @ RootError::Busy { .. }) => self.warn(&Failure::new(
                    Status::Conflict,
                    "the partition is not undone yet",
                    error.to_string(),
                    "this command waits for the lock",
                )),
                outcome => break outcome?,
            }
        };
        self.swept(state, lock)
    }

    /// Locks the state directory; `None` where there is none, so nothing is in force.
    ///
    /// # Errors
    /// As [`Session::lock`].
    pub fn lock_existing(&self) -> Result<Option<ChangeLock<'_>>, Failure> {
        match self.state()? {
            None => Ok(None),
            Some(state) => self.locked(state).map(Some),
        }
    }

    /// For the boot files alone, which have a lock of their own: the tools of a loader may take minutes, and delay no `undo`.
    ///
    /// # Errors
    /// As [`Session::lock`].
    pub fn lock_boot_files(&self) -> Result<ChangeLock<'_>, Failure> {
        let state = self.made_state()?;
        let lock = lock_boot_files(&state)?;
        Ok(ChangeLock {
            session: self,
            host: Host::new(self.writable()?.clone()),
            left: Vec::new(),
            state,
            _lock: lock,
            _held: HeldSignals::unless_watched(),
        })
    }

    /// Removes `/var/lib/quietcore` where nothing is in it. While another command has the lock it stays: that one may be about
    /// to use it.
    ///
    /// # Errors
    /// The errno of looking or of the removal.
    pub fn discard_empty_lasting_state(&self) -> Result<(), Failure> {
        let Some(lasting) = self.lasting_state()? else {
            return Ok(());
        };
        let Ok(_lock) = self.made_state()?.lock(Duration::ZERO) else {
            return Ok(());
        };
        if lasting.names("")?.is_empty() {
            lasting.discard()?;
        }
        Ok(())
    }

    /// Reports that what programs had limited or traced could not be restored.
    pub fn warn_of_leftovers(&self, error: ApplyError) {
        let Failure {
            status, what, why, ..
        } = error.into();
        self.warn(&Failure::new(
            status,
            "limits or traces of a quietcore command that ended could not be removed",
            format!("{what}: {why}"),
            "each later command tries again; a restart of the machine removes them as well",
        ));
    }

    fn locked(&self, state: Arc<StateDir>) -> Result<ChangeLock<'_>, Failure> {
        let lock = state.lock(LOCK_WAIT).map_err(not_locked)?;
        self.swept(state, lock)
    }

    /// A command that was killed did not restore what it had changed. Where that fails now, it stays in its ledger for the next
    /// command, and is no reason to refuse the job of this one.
    fn swept(&self, state: Arc<StateDir>, lock: Lock) -> Result<ChangeLock<'_>, Failure> {
        let held = HeldSignals::unless_watched();
        let host = Host::new(self.writable()?.clone());
        let sweeps = [
            apply::latency::sweep(&host, &*state),
            apply::tracing::sweep(&host, &*state),
            apply::kprobes::sweep(&host, &*state),
        ];
        let mut left = Vec::new();
        for swept in sweeps {
            match swept {
                Ok(changed) => left.extend(changed),
                Err(error) => self.warn_of_leftovers(error),
            }
        }
        Ok(ChangeLock {
            session: self,
            host,
            left,
            state,
            _lock: lock,
            _held: held,
        })
    }
}

impl ChangeLock<'_> {
    /// `/run/quietcore`.
    #[must_use]
    pub fn state(&self) -> &StateDir {
        &self.state
    }

    /// The boot files too, while the result lives.
    ///
    /// # Errors
    /// Another quietcore changes them.
    pub fn with_boot_files(&self) -> Result<Lock, Failure> {
        lock_boot_files(&self.state)
    }

    /// Undoes what was applied for a reason, by a command that undoes its own work. What other programs did to their own tasks
    /// since then is theirs; the journal must not stay for that.
    ///
    /// # Errors
    /// A journal that cannot be read or written.
    pub fn undo(&self, which: Which, reason: &str) -> Result<Undone, Failure> {
        let boot_id = self.session.boot_id();
        let undo = |force| apply::undo(&self.host, self.state(), boot_id.as_deref(), which, force, reason);
        let undone = undo(Force::No)?;
        if undone.failed.is_empty() && !undone.drift.is_empty() {
            undo(Force::Keep)?;
        }
        Ok(undone)
    }
}

fn lock_boot_files(state: &StateDir) -> Result<Lock, Failure> {
    state
        .lock_file(LockFile::BootFiles, LOCK_WAIT)
        .map_err(not_locked)
}

/// A read-only or full file system is no conflict; everything else is.
fn not_locked(error: RootError) -> Failure {
    match error.errno() {
        Some(_) => error.into(),
        None => Failure {
            status: Status::Conflict,
            ..error.into()
        },
    }
}
