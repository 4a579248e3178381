//! How long single CPUs may take to wake, limited while a program runs (`run --latency`).
//!
//! The limit is a file of the CPU, so it does not end with the process that wrote it. Who limits what is in a ledger
//! of its own, written before the file: the end of the program gives back what was there, and after a death the next
//! call does. Several programs may limit one CPU; the tightest limit holds, and the last one gives back.

use crate::journal::Storage;
use crate::{ApplyError, System, ledger};
use machine::{CpuSet, TaskKey};
use plan::knobs::{is_tighter_latency, resume_latency_path};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NAME: &str = "latency";

/// What holds of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All CPUs that have the file are limited now.
    PerCpu,
    /// No CPU has the file; nothing was written.
    NoFile,
}

/// A program's limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Hold {
    /// The process that gives it back.
    holder: TaskKey,
    /// What it writes, as the file has it.
    limit: String,
    /// What each CPU's file said before anybody limited it.
    former: BTreeMap<u32, String>,
}

impl ledger::Held for Hold {
    fn holder(&self) -> TaskKey {
        self.holder
    }
}

/// Limits these CPUs for as long as the holder lives, in microseconds; 0 lets an idle CPU poll.
///
/// # Errors
/// A ledger that cannot be written, a file that refuses; what was written before is taken back.
pub fn hold(
    system: &dyn System,
    storage: &dyn Storage,
    holder: TaskKey,
    microseconds: u32,
    cpus: &CpuSet,
) -> Result<Held, ApplyError> {
    let limit = match microseconds {
        // The file says 0 where there is no limit.
        0 => "n/a".to_owned(),
        limit => limit.to_string(),
    };
    let holds: Vec<Hold> = ledger::read(storage, NAME)?;
    let mut former = BTreeMap::new();
    for cpu in cpus.iter() {
        let known = holds.iter().find_map(|hold| hold.former.get(&cpu.0).cloned());
        let now = system.root().value(&resume_latency_path(cpu)).ok().flatten();
        // Where it is limited already, what is there now is somebody else's limit.
        if let Some(value) = now.and_then(|now| known.or(Some(now))) {
            former.insert(cpu.0, value);
        }
    }
    if former.is_empty() {
        return Ok(Held::NoFile);
    }
    let new = Hold {
        holder,
        limit,
        former,
    };
    ledger::note(storage, NAME, new.clone())?;
    let all: Vec<Hold> = holds.into_iter().chain([new.clone()]).collect();
    for cpu in new.former.keys() {
        let path = resume_latency_path(machine::CpuId(*cpu));
        let now = system.root().value(&path)?;
        let wanted = wanted(&all, *cpu);
        if now.is_some()
            && now != wanted
            && let Some(wanted) = wanted
            && let Err(error) = system.write(&path, &wanted)
        {
            release(system, storage, |hold| hold == holder)?;
            return Err(error.into());
        }
    }
    Ok(Held::PerCpu)
}

/// Gives back what one process holds. What somebody else changed since is left alone and named.
///
/// # Errors
/// A ledger that cannot be read or written, a file that refuses.
pub fn let_go(
    system: &dyn System,
    storage: &dyn Storage,
    holder: TaskKey,
) -> Result<Vec<String>, ApplyError> {
    release(system, storage, |hold| hold == holder)
}

/// Gives back what processes held that ended without doing so.
///
/// # Errors
/// As [`let_go`].
pub fn sweep(system: &dyn System, storage: &dyn Storage) -> Result<Vec<String>, ApplyError> {
    release(system, storage, |holder| ledger::is_gone(system, holder))
}

/// Gives back every limit on these CPUs, because the partition is taken from the programs that have them.
///
/// # Errors
/// As [`let_go`].
pub fn free(system: &dyn System, storage: &dyn Storage, cpus: &CpuSet) -> Result<Vec<String>, ApplyError> {
    let is_on = |hold: &Hold| hold.former.keys().any(|cpu| cpus.contains(machine::CpuId(*cpu)));
    let holders: Vec<TaskKey> = ledger::read::<Hold>(storage, NAME)?
        .iter()
        .filter(|hold| is_on(hold))
        .map(|hold| hold.holder)
        .collect();
    release(system, storage, |holder| holders.contains(&holder))
}

fn release(
    system: &dyn System,
    storage: &dyn Storage,
    goes: impl Fn(TaskKey) -> bool,
) -> Result<Vec<String>, ApplyError> {
    let holds: Vec<Hold> = ledger::read(storage, NAME)?;
    let (gone, stay): (Vec<Hold>, Vec<Hold>) = holds.iter().cloned().partition(|hold| goes(hold.holder));
    let mut left = Vec::new();
    for hold in &gone {
        for (cpu, former) in &hold.former {
            let path = resume_latency_path(machine::CpuId(*cpu));
            let Some(now) = system.root().value(&path).ok().flatten() else {
                continue;
            };
            let wanted = wanted(&stay, *cpu).unwrap_or_else(|| former.clone());
            let ours = |now: &str| {
                let on = holds.iter().filter(|hold| hold.former.contains_key(cpu));
                on.into_iter().any(|hold| hold.limit == now)
            };
            if now == wanted {
                continue;
            }
            if ours(&now) {
                system.write(&path, &wanted)?;
            } else {
                left.push(format!(
                    "{path}: `{now}` now, by somebody else; before it was `{former}`"
                ));
            }
        }
    }
    let done: Vec<TaskKey> = gone.iter().map(|hold| hold.holder).collect();
    ledger::close(storage, NAME, &done, &stay)?;
    Ok(left)
}

/// The tightest of what was there and of all limits on a CPU; `None` for a CPU that nobody limits.
fn wanted(holds: &[Hold], cpu: u32) -> Option<String> {
    let on: Vec<&Hold> = holds
        .iter()
        .filter(|hold| hold.former.contains_key(&cpu))
        .collect();
    let former = on.first()?.former.get(&cpu)?.clone();
    let tightest = on
        .iter()
        .fold(former, |now, hold| match is_tighter_latency(&now, &hold.limit) {
            true => now,
            false => hold.limit.clone(),
        });
    Some(tightest)
}
