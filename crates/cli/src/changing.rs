//! What every changing verb needs: the host, the state directory, its lock, and one way to show entries.

use crate::{CommandError, Status};
use apply::{
    ApplyError, Captured, Entry, Force, Host, Journal, JournalState, Layer, Standing, Undone, Which,
};
use machine::Machine;
use plan::Intent;
use root::process::{self, ENDINGS, Former};
use root::state::{LIB_DIR, Lock, LockFile, StateDir};
use root::{Live, Origin, Root, RootError};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where the journal of this boot is.
pub const STATE: &str = "/run/quietcore";

/// How long a verb waits for another quietcore that holds the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The machine and our state, locked.
pub struct Changing {
    /// The machine.
    pub host: Host,
    /// `/run/quietcore`.
    pub state: StateDir,
    /// What programs that died had limited ([`apply::latency`]) or traced ([`apply::tracing`]) and somebody else changed
    /// since: left alone.
    pub left: Vec<String>,
    _lock: Lock,
    // Last, so that a signal that was held meets a lock that is free.
    _held: Option<Held>,
}

/// While it lives, [`ENDINGS`] wait: no change is cut in two. They do their work when it goes.
struct Held(Former);

impl Held {
    /// `None` for a verb that takes its changes back at a signal: it has to hear of it.
    fn unless_watched() -> Option<Held> {
        (!IS_WATCHED.load(Ordering::Relaxed)).then(|| Held(process::hold_endings()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        process::release_signals(&self.0);
    }
}

impl Changing {
    /// Makes the state directory where needed, and locks it.
    ///
    /// # Errors
    /// No permission, an unsafe directory, or another quietcore at work.
    pub fn begin() -> Result<Changing, CommandError> {
        Changing::locked(StateDir::create(Path::new(STATE))?)
    }

    /// As [`Changing::begin`], however long another quietcore has the lock: for an undo that must happen. Each wait is
    /// reported.
    ///
    /// # Errors
    /// No permission, or an unsafe directory.
    pub fn begin_however_long() -> Result<Changing, CommandError> {
        let state = StateDir::create(Path::new(STATE))?;
        let lock = loop {
            match state.lock(LOCK_WAIT) {
                Err(error @ RootError::Busy { .. }) => crate::screen::warn(
                    "the partition is not undone yet",
                    &error.to_string(),
                    "this command waits for the lock",
                ),
                outcome => break outcome?,
            }
        };
        Ok(Changing::with(state, lock))
    }

    /// For the boot files alone, whose lock is another one: what the tools of a loader take holds up no `undo`.
    ///
    /// # Errors
    /// As [`Changing::begin`].
    pub fn boot_files() -> Result<Changing, CommandError> {
        let state = StateDir::create(Path::new(STATE))?;
        let lock = lock_boot_files(&state)?;
        Ok(Changing {
            host: Host::new(Live::host()),
            left: Vec::new(),
            state,
            _lock: lock,
            _held: Held::unless_watched(),
        })
    }

    /// The boot files too, while this lives.
    ///
    /// # Errors
    /// Another quietcore changes them.
    pub fn with_boot_files(&self) -> Result<Lock, CommandError> {
        lock_boot_files(&self.state)
    }

    /// Locks the state directory; `None` when there is none, so nothing is in force.
    ///
    /// # Errors
    /// As [`Changing::begin`].
    pub fn existing() -> Result<Option<Changing>, CommandError> {
        match StateDir::open(Path::new(STATE))? {
            None => Ok(None),
            Some(state) => Changing::locked(state).map(Some),
        }
    }

    /// This boot.
    #[must_use]
    pub fn boot_id(&self) -> Option<String> {
        Root::live()
            .value("/proc/sys/kernel/random/boot_id")
            .ok()
            .flatten()
    }

    /// Takes back what was applied for a reason, by a verb that takes it back itself. What other programs did to their own
    /// tasks meanwhile is theirs; the journal must not stay for that.
    ///
    /// # Errors
    /// A journal that cannot be read or written.
    pub fn take_back(&self, which: Which, reason: &str) -> Result<Undone, CommandError> {
        let boot_id = self.boot_id();
        let undo = |force| apply::undo(&self.host, &self.state, boot_id.as_deref(), which, force, reason);
        let undone = undo(Force::No)?;
        if undone.failed.is_empty() && !undone.drift.is_empty() {
            undo(Force::Keep)?;
        }
        Ok(undone)
    }

    fn locked(state: StateDir) -> Result<Changing, CommandError> {
        let lock = state.lock(LOCK_WAIT).map_err(not_locked)?;
        Ok(Changing::with(state, lock))
    }

    fn with(state: StateDir, lock: Lock) -> Changing {
        let held = Held::unless_watched();
        let host = Host::new(Live::host());
        // A command that was killed did not give back what it held. Where that fails now, it stays in its ledger for the next
        // command, and is no reason to refuse the job of this one.
        let sweeps = [
            apply::latency::sweep(&host, &state),
            apply::tracing::sweep(&host, &state),
            apply::kprobes::sweep(&host, &state),
        ];
        let mut left = Vec::new();
        for swept in sweeps {
            match swept {
                Ok(changed) => left.extend(changed),
                Err(error) => warn_of_leftovers(error),
            }
        }
        Changing {
            host,
            state,
            left,
            _lock: lock,
            _held: held,
        }
    }
}

fn lock_boot_files(state: &StateDir) -> Result<Lock, CommandError> {
    state
        .lock_file(LockFile::BootFiles, LOCK_WAIT)
        .map_err(not_locked)
}

/// A read-only or full file system is no conflict; everything else is.
fn not_locked(error: RootError) -> CommandError {
    match error.errno() {
        Some(_) => error.into(),
        None => CommandError {
            status: Status::Conflict,
            ..error.into()
        },
    }
}

/// Removes `/var/lib/quietcore` where nothing is in it. While another command has the lock it stays: that one may be about to use it.
///
/// # Errors
/// The errno of looking or of the removal.
pub fn discard_empty_lasting() -> Result<(), CommandError> {
    let Some(state) = existing_lasting()? else {
        return Ok(());
    };
    let Ok(_lock) = StateDir::create(Path::new(STATE))?.lock(Duration::ZERO) else {
        return Ok(());
    };
    if state.names("")?.is_empty() {
        state.discard()?;
    }
    Ok(())
}

/// Reports that what programs held could not be given back.
pub fn warn_of_leftovers(error: ApplyError) {
    let CommandError { what, why, .. } = error.into();
    crate::screen::warn(
        "limits or traces of a quietcore command that ended could not be removed",
        &format!("{what}: {why}"),
        "each later command tries again; a restart of the machine removes them as well",
    );
}

/// What outlives a restart: `/var/lib/quietcore`, made where needed. The lock is that of [`Changing`].
///
/// # Errors
/// No permission, or an unsafe directory.
pub fn lasting() -> Result<StateDir, CommandError> {
    Ok(StateDir::create(Path::new(LIB_DIR))?)
}

/// As [`lasting`], where it is there already.
///
/// # Errors
/// As [`lasting`].
pub fn existing_lasting() -> Result<Option<StateDir>, CommandError> {
    Ok(StateDir::open(Path::new(LIB_DIR))?)
}

/// The partitions in force on this machine, as far as we may look: the journal is for root alone.
#[must_use]
pub fn in_force() -> Vec<Intent> {
    layers_in_force(|layer| layer.intent.clone())
}

/// As [`in_force`], each with the reason why it was made.
#[must_use]
pub fn in_force_because() -> Vec<(Intent, String)> {
    layers_in_force(|layer| (layer.intent.clone(), layer.reason.to_owned()))
}

/// The partitions in force, and what of each does not hold; `None` where that cannot be known: where the journal cannot be
/// read, or was not captured with the machine.
#[must_use]
pub fn standing(root: &Root, machine: &Machine) -> Option<Vec<Standing>> {
    if root.origin() == Origin::Captured {
        return captured(root, machine);
    }
    let Some(state) = StateDir::open(Path::new(STATE)).ok()? else {
        return Some(Vec::new());
    };
    let Some(journal) = Journal::open(&state).ok()? else {
        return Some(Vec::new());
    };
    if journal.state(machine.kernel.boot_id.as_deref()) == JournalState::Void {
        return Some(Vec::new());
    }
    Some(apply::standing(&Host::new(Live::host()), &journal, machine))
}

fn captured(root: &Root, machine: &Machine) -> Option<Vec<Standing>> {
    let captured = Captured(root);
    let journal = Journal::open(&captured).ok()??;
    match journal.state(machine.kernel.boot_id.as_deref()) {
        JournalState::Void => Some(Vec::new()),
        _ => Some(apply::standing(&captured, &journal, machine)),
    }
}

/// Whether a change of ours is between its begin and its end. A journal that cannot be read tells of none.
#[must_use]
pub fn is_under_way(root: &Root) -> bool {
    let Ok(Some(state)) = StateDir::open(Path::new(STATE)) else {
        return false;
    };
    let boot_id = root.value("/proc/sys/kernel/random/boot_id").ok().flatten();
    let journal = Journal::open(&state).ok().flatten();
    journal.is_some_and(|journal| {
        matches!(
            journal.state(boot_id.as_deref()),
            JournalState::Unfinished | JournalState::Resizing
        )
    })
}

fn layers_in_force<T>(take: impl Fn(&Layer) -> T) -> Vec<T> {
    let Ok(Some(state)) = StateDir::open(Path::new(STATE)) else {
        return Vec::new();
    };
    let boot_id = Root::live()
        .value("/proc/sys/kernel/random/boot_id")
        .ok()
        .flatten();
    // What is wrong with a journal is said by the verb that has to write to it.
    let Ok(Some(journal)) = Journal::open(&state) else {
        return Vec::new();
    };
    if journal.state(boot_id.as_deref()) == JournalState::Void {
        return Vec::new();
    }
    let layers = journal.layers();
    let partitions = layers
        .iter()
        .filter(|layer| layer.is_live() && layer.is_partition());
    partitions.map(take).collect()
}

/// One entry of `apply` and `undo` in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct EntryJson {
    seq: u64,
    change: String,
    before: Option<String>,
    after: Option<String>,
    outcome: String,
}

impl From<&Entry> for EntryJson {
    fn from(entry: &Entry) -> EntryJson {
        EntryJson {
            seq: entry.seq,
            change: entry.change.clone(),
            before: entry.before.clone(),
            after: entry.after.clone(),
            outcome: entry.outcome.text(),
        }
    }
}

/// Entries as a table: what, before, after, outcome.
#[must_use]
pub fn entries_text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        text.push_str(&format!(
            "{:<52} {} -> {}  {}\n",
            entry.change,
            value(&entry.before),
            value(&entry.after),
            entry.outcome.text()
        ));
    }
    text
}

/// Seconds since 1970.
#[must_use]
pub fn seconds_now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// Whether [`stop_flag`] is set by signals.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Becomes true at the first of [`ENDINGS`], also one that came while the lock was taken; a verb that changes the machine
/// takes back what it did instead of dying in the middle. A hangup that the caller ignores (nohup) stays ignored.
pub fn stop_flag() -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn note(_signal: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    for signal in ENDINGS {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe; `action` and `former` are fully set.
        unsafe {
            let mut former: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut former);
            if signal == libc::SIGHUP && former.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note as *const () as libc::sighandler_t;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    IS_WATCHED.store(true, Ordering::Relaxed);
    process::admit_endings();
    &STOP
}

impl From<ApplyError> for CommandError {
    fn from(error: ApplyError) -> CommandError {
        let status = match &error {
            ApplyError::Root(_) => Status::Unable,
            ApplyError::Unable { .. } | ApplyError::Guard { .. } | ApplyError::Tool { .. } => Status::Unable,
            ApplyError::RolledBack { errno, .. } => match errno {
                Some(libc::EACCES | libc::EPERM) => Status::Denied,
                _ => Status::Unable,
            },
            ApplyError::Exists { .. }
            | ApplyError::OtherIntent { .. }
            | ApplyError::Taken { .. }
            | ApplyError::Unfinished { .. }
            | ApplyError::Resizing { .. }
            | ApplyError::Busy { .. }
            | ApplyError::Tracing { .. }
            | ApplyError::Journal { .. }
            | ApplyError::OtherVersion { .. }
            | ApplyError::Installed { .. }
            | ApplyError::NothingToConfirm { .. } => Status::Conflict,
            ApplyError::NoPartition { .. } | ApplyError::Within { .. } => Status::Usage,
            ApplyError::Interrupted { .. } => Status::Failed,
        };
        if let ApplyError::Root(error) = error {
            return error.into();
        }
        let text = error.to_string();
        let mut lines = text.splitn(3, '\n').map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        CommandError {
            status,
            what: line(),
            why: line(),
            next: line().replace('\n', "; "),
        }
    }
}
