//! The guard: a detached process that takes everything back when its parent dies or the time is up.
//!
//! It is armed before the first write. It sits in its own session and outside the caller's cgroup, on the
//! housekeeping CPUs, locked in memory. It learns of its parent's death from the end of a pipe, which works on
//! every kernel and cannot be missed; children that the parent forks die with the parent.

use crate::journal::{Journal, JournalState, Storage};
use crate::layers::{Layer, LayerState};
use crate::record::Event;
use crate::undo::{Force, Which, undo};
use crate::{ApplyError, System};
use machine::{Cgroups, CpuSet, Version};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Byte with which the guard says that it watches.
const READY: u8 = b'r';
/// Byte with which the parent sends it away.
const DISARM: u8 = b'd';

/// Pause between two tries to undo.
const PAUSE: Duration = Duration::from_secs(1);

/// When the guard takes things back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// When the parent dies: `prove`.
    Parent,
    /// When the time is up without a confirmation, or the parent dies in the middle: `--confirm-within`.
    Deadline(Duration),
}

/// An armed guard, seen from the parent.
pub struct Guard {
    child: Child,
    token: String,
}

impl Guard {
    /// Starts the guard as `PROGRAM guard ...` and waits until it watches.
    ///
    /// # Errors
    /// [`ApplyError::Guard`] when it cannot be started; nothing may be changed then.
    pub fn arm(program: &str, housekeeping: &CpuSet, watch: Watch) -> Result<Guard, ApplyError> {
        let failed = |why: String| ApplyError::Guard { why };
        let clock = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let token = format!("{}-{}", std::process::id(), clock.as_nanos());
        let mut command = Command::new(program);
        command.args(["guard", "--token", &token, "--cpus", &housekeeping.to_string()]);
        if let Watch::Deadline(time) = watch {
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
                Err(failed(format!("it ended before it watched ({status})")))
            }
        }
    }

    /// The token that ties a journal to this guard.
    #[must_use]
    pub fn token(&self) -> String {
        self.token.clone()
    }

    /// Number of the guard's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it away and waits until it is gone.
    pub fn disarm(mut self) {
        if let Some(input) = self.child.stdin.as_mut() {
            // A guard that is gone already needs no telling.
            let _ = input.write_all(&[DISARM]).and_then(|()| input.flush());
        }
        let _ = self.child.wait();
    }
}

/// What the guard process does from its start to its end. Gives what it did, for its exit status.
///
/// # Errors
/// What the undo met.
pub fn stand<L>(
    system: &dyn System,
    storage: &dyn Storage,
    token: &str,
    housekeeping: &CpuSet,
    watch: Watch,
    lock: &mut dyn FnMut() -> Result<L, ApplyError>,
) -> Result<(), ApplyError> {
    detach(system);
    // Either may be refused (a container); the guard then still does its work from where it is.
    let _ = system.set_affinity(std::process::id(), housekeeping);
    let _ = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT | rustix::mm::MlockAllFlags::FUTURE);
    let mut out = std::io::stdout();
    out.write_all(&[READY])
        .and_then(|()| out.flush())
        .map_err(|error| ApplyError::Guard {
            why: error.to_string(),
        })?;
    let deadline = match watch {
        Watch::Parent => None,
        Watch::Deadline(time) => Some(Instant::now() + time),
    };
    let why = match wait_for_parent(deadline) {
        Wake::Disarmed => return Ok(()),
        Wake::Deadline => "guard: not confirmed in time",
        Wake::ParentDied => {
            let boot_id = boot_id(system);
            let finished = Journal::open(storage)?.is_some_and(|journal| {
                journal.state(boot_id.as_deref()) != JournalState::Void
                    && mine(&journal, token).is_some_and(|layer| layer.state == LayerState::InForce)
            });
            match deadline {
                Some(deadline) if finished => {
                    // The parent ended in peace and the user has the rest of the time to confirm.
                    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                    "guard: not confirmed in time"
                }
                _ => "guard: parent died",
            }
        }
    };
    undo_watched(system, storage, token, why, lock)
}

/// Undoes the apply that a guard watches, unless it is undone or confirmed by then. What fails is tried again, however long: giving
/// up would leave an unconfirmed partition in force. Between two tries the lock is free for other commands.
///
/// # Errors
/// A journal that no try can read: a damaged one, or one of another version.
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

/// One try; gives whether nothing is left to do. Without the lock, another command may finish the job.
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
    let undone = undo(
        system,
        storage,
        boot_id.as_deref(),
        Which::Guarded(token),
        Force::No,
        why,
    )?;
    Ok(undone.failed.is_empty())
}

/// Whether the layer of this guard is in the journal and not confirmed.
fn is_awaited(storage: &dyn Storage, token: &str) -> Result<bool, ApplyError> {
    let journal = Journal::open(storage)?;
    Ok(journal.is_some_and(|journal| mine(&journal, token).is_some_and(|layer| !layer.confirmed)))
}

/// Notes the user's confirmation, so that the guard lets things stand.
///
/// # Errors
/// [`ApplyError::NothingToConfirm`] when nothing is in force or nothing waits.
pub fn confirm(storage: &dyn Storage) -> Result<(), ApplyError> {
    let nothing = |why: &str| ApplyError::NothingToConfirm { why: why.to_owned() };
    let Some(mut journal) = Journal::open(storage)? else {
        return Err(nothing("nothing is in force"));
    };
    let waits = |layer: &&Layer| layer.is_live() && layer.guard.is_some() && !layer.confirmed;
    let waiting: Vec<u64> = journal
        .layers()
        .iter()
        .filter(waits)
        .map(|layer| layer.seq)
        .collect();
    if waiting.is_empty() {
        return Err(nothing(
            "what is in force was applied without a time limit, or is confirmed",
        ));
    }
    // One `apply` may bring several partitions into force.
    for layer in waiting {
        journal.append(Event::Confirmed { layer: Some(layer) })?;
    }
    Ok(())
}

/// The apply that this guard watches, while it is not taken back.
fn mine<'j>(journal: &'j Journal, token: &str) -> Option<Layer<'j>> {
    let layers = journal.layers();
    layers
        .into_iter()
        .find(|layer| layer.is_live() && layer.guard == Some(token))
}

fn boot_id(system: &dyn System) -> Option<String> {
    system
        .root()
        .value("/proc/sys/kernel/random/boot_id")
        .ok()
        .flatten()
}

/// Leaves the caller's session and the cgroups by which it is killed. Each of these may be refused (a container); the
/// work is then done from where the process is.
pub fn detach(system: &dyn System) {
    let _ = rustix::process::setsid();
    let pid = std::process::id();
    for (version, mount, controllers) in &Cgroups::read(system.root()).mounts {
        // Only the hierarchies by which a session is killed: v2, and systemd's own on v1.
        if *version == Version::V2 || controllers.iter().any(|name| name == "name=systemd") {
            let _ = system.write(&format!("{mount}/cgroup.procs"), &pid.to_string());
        }
    }
}

enum Wake {
    Disarmed,
    Deadline,
    ParentDied,
}

fn wait_for_parent(deadline: Option<Instant>) -> Wake {
    let input = std::io::stdin();
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => return Wake::Deadline,
            Ok(_) => {
                let mut byte = [0];
                return match input.lock().read(&mut byte) {
                    Ok(1) if byte[0] == DISARM => Wake::Disarmed,
                    _ => Wake::ParentDied,
                };
            }
            Err(rustix::io::Errno::INTR) => {}
            // Without poll nothing can be watched: taking back at once is the safe side.
            Err(_) => return Wake::ParentDied,
        }
    }
}
