//! Takes the right to change the machine: locks the state directory and holds back signals.

mod lease_sweep;

pub use lease_sweep::EndedLease;

use crate::Session;
use crate::signals::SignalBlock;
use apply::{ApplyError, Force, MoveContext, System, UndoOutcome, UndoRequest, UndoTarget};
use machine::{CpuSet, Hierarchy};
use root::state::{Lock, LockFile, StateDir};
use root::{Failure, RootError, Status};
use std::sync::Arc;
use std::time::Duration;

/// How long a command waits for another quietcore that has the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The machine and our state, locked until this is dropped.
pub struct ChangeLock<'s> {
    /// The session that it belongs to.
    pub session: &'s Session,
    /// The machine.
    pub host: Box<dyn System>,
    /// Limits ([`apply::latency`]) and traces ([`apply::tracing`]) of dead programs that another program changed since: left alone.
    pub left: Vec<String>,
    /// Leases that ended with their owner since the last command.
    pub ended_leases: Vec<EndedLease>,
    state: Arc<StateDir>,
    _lock: Lock,
    // Dropped last, so that a held signal finds the lock free.
    _held: Option<SignalBlock>,
}

impl Session {
    /// Creates the state directory if necessary, and locks it.
    ///
    /// # Errors
    /// No permission, an unsafe directory, another running quietcore, or a captured machine.
    pub fn lock(&self) -> Result<ChangeLock<'_>, Failure> {
        self.locked(self.made_state()?)
    }

    /// As [`Session::lock`], but waits without a limit and reports each wait: for an undo that must happen.
    ///
    /// # Errors
    /// No permission, an unsafe directory, or a captured machine.
    pub fn lock_however_long(&self) -> Result<ChangeLock<'_>, Failure> {
        let state = self.made_state()?;
        let lock = loop {
            match state.lock(LOCK_WAIT) {
                Err(error @ RootError::Busy { .. }) => self.warn(&Failure::conflict(
                    "the partition is not undone yet",
                    error,
                    "this command waits for the lock",
                )),
                outcome => break outcome?,
            }
        };
        // Leases do not end here: the caller compares the state with that of before.
        self.swept(state, lock)
    }

    /// As [`Session::lock`], but ends no leases: for traces, which change no partition and may be part of a comparison of
    /// the state before and after.
    ///
    /// # Errors
    /// As [`Session::lock`].
    pub fn lock_for_trace(&self) -> Result<ChangeLock<'_>, Failure> {
        let state = self.made_state()?;
        let lock = state.lock(LOCK_WAIT).map_err(not_locked)?;
        self.swept(state, lock)
    }

    /// Locks the state directory; `None` if it does not exist, so nothing is active.
    ///
    /// # Errors
    /// As [`Session::lock`].
    pub fn lock_existing(&self) -> Result<Option<ChangeLock<'_>>, Failure> {
        match self.state()? {
            None => Ok(None),
            Some(state) => self.locked(state).map(Some),
        }
    }

    /// As [`Session::lock_existing`], but does not wait; `None` also while another command has the lock.
    ///
    /// # Errors
    /// As [`Session::lock`].
    pub fn lock_if_free(&self) -> Result<Option<ChangeLock<'_>>, Failure> {
        let Some(state) = self.state()? else {
            return Ok(None);
        };
        match state.lock(Duration::ZERO) {
            Ok(lock) => self.with_leases_swept(state, lock).map(Some),
            Err(RootError::Busy { .. }) => Ok(None),
            Err(error) => Err(not_locked(error)),
        }
    }

    /// For the boot files only, which have their own lock: loader tools may take minutes and must not delay `undo`.
    ///
    /// # Errors
    /// As [`Session::lock`].
    pub fn lock_boot_files(&self) -> Result<ChangeLock<'_>, Failure> {
        let state = self.made_state()?;
        let lock = lock_boot_files(&state)?;
        Ok(ChangeLock {
            session: self,
            host: self.system(self.writable()?),
            left: Vec::new(),
            ended_leases: Vec::new(),
            state,
            _lock: lock,
            _held: SignalBlock::unless_watched(),
        })
    }

    /// Removes `/var/lib/quietcore` if it is empty. It stays while another command holds the lock, because that command may
    /// be about to use it.
    ///
    /// # Errors
    /// The errno of the check or of the removal.
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

    /// Reports limits or traces of dead programs that could not be restored.
    pub fn warn_of_leftovers(&self, error: ApplyError) {
        let Failure { status, what, why, .. } = error.into();
        self.warn(&Failure::new(
            status,
            "limits or traces of an earlier quietcore command could not be removed",
            format!("{what}: {why}"),
            "each later command tries again; a restart of the machine also removes them",
        ));
    }

    fn locked(&self, state: Arc<StateDir>) -> Result<ChangeLock<'_>, Failure> {
        let lock = state.lock(LOCK_WAIT).map_err(not_locked)?;
        self.with_leases_swept(state, lock)
    }

    fn with_leases_swept(&self, state: Arc<StateDir>, lock: Lock) -> Result<ChangeLock<'_>, Failure> {
        let mut changing = self.swept(state, lock)?;
        changing.ended_leases = changing.sweep_leases();
        self.note_ended_leases(&changing.ended_leases);
        Ok(changing)
    }

    /// Restores what killed commands had changed. If that fails, the change stays in its ledger for the next command, and
    /// this command continues.
    fn swept(&self, state: Arc<StateDir>, lock: Lock) -> Result<ChangeLock<'_>, Failure> {
        let held = SignalBlock::unless_watched();
        let host = self.system(self.writable()?);
        let sweeps = [
            apply::latency::sweep(&*host, &*state),
            apply::tracing::sweep(&*host, &*state),
            apply::kprobes::sweep(&*host, &*state),
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
            ended_leases: Vec::new(),
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

    /// What a move of tasks works with: the hierarchy, and the CPUs that partitions took from all other tasks.
    #[must_use]
    pub fn move_context<'a>(&'a self, hierarchy: &'a Hierarchy, isolated: &'a CpuSet) -> MoveContext<'a> {
        MoveContext {
            system: &*self.host,
            hierarchy,
            isolated,
        }
    }

    /// Locks the boot files too, as long as the result lives.
    ///
    /// # Errors
    /// Another quietcore is changing them.
    pub fn with_boot_files(&self) -> Result<Lock, Failure> {
        lock_boot_files(&self.state)
    }

    /// Undoes what was applied for a reason, for a command that undoes its own work. Changes that other programs made to
    /// their own tasks since then are kept and do not keep the journal open.
    ///
    /// # Errors
    /// A journal that cannot be read or written.
    pub fn undo(&self, which: UndoTarget, reason: &str) -> Result<UndoOutcome, Failure> {
        let boot_id = self.session.boot_id();
        let undo = |force| {
            let why = reason;
            let request = UndoRequest { which, force, why };
            apply::undo(&*self.host, self.state(), boot_id.as_deref(), request)
        };
        let mut undone = undo(Force::No)?;
        if undone.failed.is_empty() && !undone.drift.is_empty() {
            undone.failed = undo(Force::Keep)?.failed;
        }
        Ok(undone)
    }
}

fn lock_boot_files(state: &StateDir) -> Result<Lock, Failure> {
    state.lock_file(LockFile::BootFiles, LOCK_WAIT).map_err(not_locked)
}

/// A read-only or full file system is not a conflict; everything else is.
fn not_locked(error: RootError) -> Failure {
    match error.errno() {
        Some(_) => error.into(),
        None => Failure {
            status: Status::Conflict,
            ..error.into()
        },
    }
}
