//! Limits the wake-up latency of single CPUs while a program runs (`run --latency`).
//!
//! The limit is a file of the CPU, so it does not end with the process that wrote it. A separate ledger, written before the file,
//! records which process limits what. The former value is restored when the program ends; if it died, the next call does that.
//! Several programs may limit one CPU: the tightest limit applies, and the last program restores the file.

use crate::journal::Storage;
use crate::{ApplyError, System, ledger};
use machine::{CpuSet, TaskKey};
use plan::knobs::{is_tighter_latency, resume_latency_path};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NAME: &str = "latency";

/// What became of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyLimitResult {
    /// All CPUs that have the file are limited now.
    PerCpu,
    /// No CPU has the file, so nothing was written.
    NoFile,
}

/// A program's limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CpuLatencyLimit {
    /// The process that restores the files.
    holder: TaskKey,
    /// Its value, in the format of the file.
    limit: String,
    /// The former value of each CPU's file, before any limit.
    former: BTreeMap<u32, String>,
}

impl ledger::ProcessHold for CpuLatencyLimit {
    fn holder(&self) -> TaskKey {
        self.holder
    }
}

/// Limits these CPUs while the holder lives, in microseconds; 0 makes an idle CPU poll.
///
/// # Errors
/// A ledger that cannot be written, or a refused write; earlier writes are undone.
pub fn hold(
    system: &dyn System,
    storage: &dyn Storage,
    holder: TaskKey,
    microseconds: u32,
    cpus: &CpuSet,
) -> Result<LatencyLimitResult, ApplyError> {
    let limit = match microseconds {
        // The file reads 0 when there is no limit.
        0 => "n/a".to_owned(),
        limit => limit.to_string(),
    };
    let holds: Vec<CpuLatencyLimit> = ledger::read(storage, NAME)?;
    let mut former = BTreeMap::new();
    for cpu in cpus.iter() {
        let known = holds.iter().find_map(|hold| hold.former.get(&cpu.0).cloned());
        let now = system.root().readable_value(&resume_latency_path(cpu));
        // If the CPU is limited already, the current value is another program's limit.
        if let Some(value) = now.and_then(|now| known.or(Some(now))) {
            former.insert(cpu.0, value);
        }
    }
    if former.is_empty() {
        return Ok(LatencyLimitResult::NoFile);
    }
    let new = CpuLatencyLimit { holder, limit, former };
    ledger::note(storage, NAME, new.clone())?;
    let all: Vec<CpuLatencyLimit> = holds.into_iter().chain([new.clone()]).collect();
    for cpu in new.former.keys() {
        let path = resume_latency_path(machine::CpuId(*cpu));
        let now = system.root().value(&path)?;
        let cpu_limit = effective_limit(&all, *cpu);
        if now.is_some()
            && now != cpu_limit
            && let Some(cpu_limit) = cpu_limit
            && let Err(error) = system.write(&path, &cpu_limit)
        {
            release(system, storage, |hold| hold == holder)?;
            return Err(error.into());
        }
    }
    Ok(LatencyLimitResult::PerCpu)
}

/// Releases the limits of one process. What another program changed since is left alone and reported.
///
/// # Errors
/// A ledger that cannot be read or written, or a refused write.
pub fn release_own(system: &dyn System, storage: &dyn Storage, holder: TaskKey) -> Result<Vec<String>, ApplyError> {
    release(system, storage, |hold| hold == holder)
}

/// Releases the limits of processes that ended without doing so.
///
/// # Errors
/// As for [`release_own`].
pub fn sweep(system: &dyn System, storage: &dyn Storage) -> Result<Vec<String>, ApplyError> {
    release(system, storage, |holder| ledger::has_ended(system, holder))
}

/// Releases every limit on these CPUs, because their programs lose the partition.
///
/// # Errors
/// As for [`release_own`].
pub fn free(system: &dyn System, storage: &dyn Storage, cpus: &CpuSet) -> Result<Vec<String>, ApplyError> {
    let is_on = |hold: &CpuLatencyLimit| hold.former.keys().any(|cpu| cpus.contains(machine::CpuId(*cpu)));
    let holders: Vec<TaskKey> = ledger::read::<CpuLatencyLimit>(storage, NAME)?
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
    let holds: Vec<CpuLatencyLimit> = ledger::read(storage, NAME)?;
    let (ended, stay): (Vec<CpuLatencyLimit>, Vec<CpuLatencyLimit>) =
        holds.iter().cloned().partition(|hold| goes(hold.holder));
    let mut left = Vec::new();
    for hold in &ended {
        for (cpu, former) in &hold.former {
            let path = resume_latency_path(machine::CpuId(*cpu));
            let Some(now) = system.root().readable_value(&path) else {
                continue;
            };
            let cpu_limit = effective_limit(&stay, *cpu).unwrap_or_else(|| former.clone());
            let ours = |now: &str| {
                let on = holds.iter().filter(|hold| hold.former.contains_key(cpu));
                on.into_iter().any(|hold| hold.limit == now)
            };
            if now == cpu_limit {
                continue;
            }
            if ours(&now) {
                system.write(&path, &cpu_limit)?;
            } else {
                left.push(format!(
                    "{path}: `{now}`, set by another program; previously `{former}`"
                ));
            }
        }
    }
    let done: Vec<TaskKey> = ended.iter().map(|hold| hold.holder).collect();
    ledger::close(storage, NAME, &done, &stay)?;
    Ok(left)
}

/// The tightest of the former value and all limits on a CPU; `None` for a CPU without limits.
fn effective_limit(holds: &[CpuLatencyLimit], cpu: u32) -> Option<String> {
    let on: Vec<&CpuLatencyLimit> = holds.iter().filter(|hold| hold.former.contains_key(&cpu)).collect();
    let former = on.first()?.former.get(&cpu)?.clone();
    let tightest = on
        .iter()
        .fold(former, |now, hold| match is_tighter_latency(&now, &hold.limit) {
            true => now,
            false => hold.limit.clone(),
        });
    Some(tightest)
}
