//! Runs the guard: a detached process that undoes an apply when its parent dies or a time limit expires.
//!
//! It is armed before the first write. It has its own session, is outside the caller's cgroup, runs on the housekeeping
//! CPUs, and is locked in memory. The end of a pipe signals the death of its parent. That works on every kernel and
//! cannot be missed; children that the parent forks die with the parent.

use crate::journal::{Journal, JournalState, Storage};
use crate::layers::{ApplyLayer, LayerState};
use crate::record::JournalEvent;
use crate::undo::{Force, UndoRequest, UndoTarget, undo};
use crate::{ApplyError, System};
use machine::{Cgroups, CpuSet, Version};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The guard sends this byte when it is watching.
const READY: u8 = b'r';
/// The parent sends this byte to dismiss the guard.
const DISARM: u8 = b'd';

/// Pause between two attempts to undo.
const PAUSE: Duration = Duration::from_secs(1);

/// When the guard undoes the apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardTrigger {
    /// When the parent dies: `prove`.
    Parent,
    /// When the time expires without a confirmation, or the parent dies in the middle: `--confirm-within`.
    Deadline(Duration),
}

/// An armed guard, seen from the parent.
pub struct Guard {
    child: Child,
    token: String,
}

impl Guard {
    /// Starts the guard as `PROGRAM guard ...` and waits until it is watching.
    ///
    /// # Errors
    /// [`ApplyError::Guard`] if it cannot be started; the caller must not change anything then.
    pub fn arm(program: &str, housekeeping: &CpuSet, watch: GuardTrigger) -> Result<Guard, ApplyError> {
        let failed = |why: String| ApplyError::Guard { why };
        let clock = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let token = format!("{}-{}", std::process::id(), clock.as_nanos());
        let mut command = Command::new(program);
        command.args(["guard", "--token", &token, "--cpus", &housekeeping.to_string()]);
        if let GuardTrigger::Deadline(time) = watch {
            command.args(["--seconds", &time.as_secs().max(1).to_string()]);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let mut byte = [0];
        match child.stdout.as_mut().map(|out| out.read(&mut byte)) {
            Some(Ok(1)) if byte[0] == READY => Ok(Guard { child, token }),
            _ => {
                let status = child
                    .wait()
                    .map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(failed(format!("it ended before it started to watch ({status})")))
            }
        }
    }

    /// The token that ties a journal to this guard.
    #[must_use]
    pub fn token(&self) -> String {
        self.token.clone()
    }

    /// Dismisses the guard and waits until it has exited.
    pub fn disarm(mut self) {
        if let Some(input) = self.child.stdin.as_mut() {
            // The guard may have exited already.
            let _ = input.write_all(&[DISARM]).and_then(|()| input.flush());
        }
        let _ = self.child.wait();
    }
}

/// What a guard process is started with.
#[derive(Clone, Copy, Debug)]
pub struct GuardTask<'a> {
    /// The token that ties a journal to it.
    pub token: &'a str,
    /// The CPUs that it runs on.
    pub housekeeping: &'a CpuSet,
    /// When it undoes the apply.
    pub watch: GuardTrigger,
}

/// Runs the guard process from start to end.
///
/// # Errors
/// The error of the undo.
pub fn run_guard<L>(
    system: &dyn System,
    storage: &dyn Storage,
    task: GuardTask,
    lock: &mut dyn FnMut() -> Result<L, ApplyError>,
) -> Result<(), ApplyError> {
    let token = task.token;
    detach(system);
    // Either may be refused (in a container); the guard then works from its current place.
    let _ = system.set_affinity(std::process::id(), task.housekeeping);
    let _ = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT | rustix::mm::MlockAllFlags::FUTURE);
    let mut out = std::io::stdout();
    out.write_all(&[READY])
        .and_then(|()| out.flush())
        .map_err(|error| ApplyError::Guard { why: error.to_string() })?;
    let deadline = match task.watch {
        GuardTrigger::Parent => None,
        GuardTrigger::Deadline(time) => Some(Instant::now() + time),
    };
    let why = match wait_for_parent(deadline) {
        GuardEvent::Disarmed => return Ok(()),
        GuardEvent::Deadline => "guard: not confirmed in time",
        GuardEvent::ParentDied => {
            let boot_id = boot_id(system);
            let finished = Journal::open(storage)?.is_some_and(|journal| {
                journal.state(boot_id.as_deref()) != JournalState::Void
                    && watched_layer(&journal, token).is_some_and(|layer| layer.state == LayerState::InForce)
            });
            match deadline {
                Some(deadline) if finished => {
                    // The parent exited normally, and the user has the rest of the time to confirm.
                    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                    "guard: not confirmed in time"
                }
                _ => "guard: parent died",
            }
        }
    };
    undo_watched(system, storage, token, why, lock)
}

/// Undoes the apply that a guard watches, unless it is undone or confirmed by then. Failures are retried without limit:
/// giving up would leave an unconfirmed partition active. Between two attempts other commands can take the lock.
///
/// # Errors
/// A journal that no attempt can read: a damaged one, or one of another version.
pub fn undo_watched<L>(
    system: &dyn System,
    storage: &dyn Storage,
    token: &str,
    why: &str,
    lock: &mut dyn FnMut() -> Result<L, ApplyError>,
) -> Result<(), ApplyError> {
    loop {
        match try_undo(system, storage, token, why, lock) {
            Ok(true) => return Ok(()),
            Err(error @ (ApplyError::Journal { .. } | ApplyError::OtherVersion { .. })) => return Err(error),
            Ok(false) | Err(_) => system.pause(PAUSE),
        }
    }
}

/// One attempt; returns whether nothing is left to do. Without the lock, another command may finish the undo.
fn try_undo<L>(
    system: &dyn System,
    storage: &dyn Storage,
    token: &str,
    why: &str,
    lock: &mut dyn FnMut() -> Result<L, ApplyError>,
) -> Result<bool, ApplyError> {
    let locked = lock();
    if !is_awaited(storage, token)? {
        return Ok(true);
    }
    let _locked = locked?;
    let boot_id = boot_id(system);
    let request = UndoRequest {
        which: UndoTarget::Guarded(token),
        force: Force::No,
        why,
    };
    let undone = undo(system, storage, boot_id.as_deref(), request)?;
    Ok(undone.failed.is_empty())
}

/// Whether the journal has an unconfirmed layer of this guard.
fn is_awaited(storage: &dyn Storage, token: &str) -> Result<bool, ApplyError> {
    let journal = Journal::open(storage)?;
    Ok(journal.is_some_and(|journal| watched_layer(&journal, token).is_some_and(|layer| !layer.confirmed)))
}

/// Records the user's confirmation, so that the guard keeps the changes.
///
/// # Errors
/// [`ApplyError::NothingToConfirm`] if nothing is active or nothing awaits confirmation.
pub fn confirm(storage: &dyn Storage) -> Result<(), ApplyError> {
    let nothing = |why: &str| ApplyError::NothingToConfirm { why: why.to_owned() };
    let Some(mut journal) = Journal::open(storage)? else {
        return Err(nothing("no partition is active"));
    };
    let waits = |layer: &&ApplyLayer| layer.is_live() && layer.guard.is_some() && !layer.confirmed;
    let waiting: Vec<u64> = journal.layers().iter().filter(waits).map(|layer| layer.seq).collect();
    if waiting.is_empty() {
        return Err(nothing(
            "the active partitions were applied without a time limit, or are confirmed",
        ));
    }
    // One `apply` can bring several partitions into force.
    for layer in waiting {
        journal.append(JournalEvent::Confirmed { layer: Some(layer) })?;
    }
    Ok(())
}

/// The apply that this guard watches, unless it is undone.
fn watched_layer<'j>(journal: &'j Journal, token: &str) -> Option<ApplyLayer<'j>> {
    let layers = journal.layers();
    layers
        .into_iter()
        .find(|layer| layer.is_live() && layer.guard == Some(token))
}

fn boot_id(system: &dyn System) -> Option<String> {
    system.root().readable_value("/proc/sys/kernel/random/boot_id")
}

/// Leaves the caller's session, and the cgroups through which the session would be killed. Each step may be refused (in
/// a container); the process then works from its current place.
pub fn detach(system: &dyn System) {
    let _ = rustix::process::setsid();
    let pid = std::process::id();
    for (version, mount, controllers) in &Cgroups::read(system.root()).mounts {
        // Only the hierarchies that are used to kill a session: v2, and systemd's own on v1.
        if *version == Version::V2 || controllers.iter().any(|name| name == "name=systemd") {
            let _ = system.write(&format!("{mount}/cgroup.procs"), &pid.to_string());
        }
    }
}

enum GuardEvent {
    Disarmed,
    Deadline,
    ParentDied,
}

fn wait_for_parent(deadline: Option<Instant>) -> GuardEvent {
    let input = std::io::stdin();
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => return GuardEvent::Deadline,
            Ok(_) => {
                let mut byte = [0];
                return match input.lock().read(&mut byte) {
                    Ok(1) if byte[0] == DISARM => GuardEvent::Disarmed,
                    _ => GuardEvent::ParentDied,
                };
            }
            Err(rustix::io::Errno::INTR) => {}
            // Without poll nothing can be watched; undoing at once is the safe choice.
            Err(_) => return GuardEvent::ParentDied,
        }
    }
}
