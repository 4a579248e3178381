//! Takes CPUs offline and online again to move timers off them, then restores what the kernel widened.
//!
//! When the last CPU of an interrupt's mask goes offline, the kernel gives the interrupt all other CPUs
//! (`irq_migrate_all_off_this_cpu`). A task that was pinned there gets the CPUs of its cgroup (`select_fallback_rq`).
//! The kernel reverts neither.

use super::move_tasks::keep_pin;
use super::{Stage, Step, refusal, write};
use crate::record::{After, Before, Outcome};
use crate::{ApplyError, System, census, fingerprint};
use machine::{CpuId, CpuSet, Machine};
use plan::{Change, Finding, FindingId, Level};
use root::RootError;
use std::collections::BTreeMap;

pub(crate) fn enact(stage: &mut Stage, change: &Change, cpus: &CpuSet) -> Result<Step, ApplyError> {
    let machine = Machine::read(stage.system.root());
    let files = fingerprint::files(stage.system.root(), &machine.cgroups);
    let tasks = census::pinned(stage)?;
    let before = Before::Value {
        value: change.before.clone(),
        tasks: tasks.clone(),
    };
    let seq = stage.will(change, before)?;
    let mut gone = Vec::new();
    for cpu in cpus.iter() {
        match stage.system.write(&online(cpu), "0").map_err(refusal) {
            Ok(()) => gone.push(cpu),
            Err(Ok(errno)) => {
                write::report(stage, change, None, errno)?;
            }
            Err(Err(error)) => return Err(error),
        }
    }
    // If a CPU does not come back, the record stays unanswered, and undo tries again.
    let stays_off: Vec<String> = bring_online(stage.system, &gone);
    if !stays_off.is_empty() {
        return Err(ApplyError::Unable {
            why: format!(
                "a CPU was switched off and does not come back: {}",
                stays_off.join("; ")
            ),
            next: "look into the kernel's log (dmesg), then `quietcore undo`".to_owned(),
        });
    }
    for lost in give_back(stage.system, &files) {
        let path = lost.split(':').next().unwrap_or_default().to_owned();
        stage
            .findings
            .push(Finding::new(Level::Warning, FindingId::MASK_LOST, path, lost));
    }
    for task in &tasks {
        keep_pin(stage, task, &machine.topology.online)?;
    }
    let outcome = match gone.is_empty() {
        true => Outcome::Refused(libc::EBUSY),
        false => Outcome::Done,
    };
    let masks = census::masks_now(stage.system, &tasks);
    let value = change.before.clone();
    stage.did(seq, outcome.clone(), After::Value { value, masks })?;
    Ok(Step {
        seq,
        before: change.before.clone(),
        after: Some(change.after.clone()),
        outcome,
    })
}

/// Brings offline CPUs online; returns one line per failure.
pub(crate) fn bring_online(system: &dyn System, cpus: &[CpuId]) -> Vec<String> {
    let failed = |path: &str, error: RootError| format!("{path}: {error}");
    let off = cpus.iter().map(|cpu| online(*cpu)).filter(|path| {
        let now = system.root().value(path).ok().flatten();
        now.as_deref() == Some("0")
    });
    off.filter_map(|path| system.write(&path, "1").err().map(|error| failed(&path, error)))
        .collect()
}

/// Restores the former masks of interrupts; returns one line per failure.
pub(crate) fn give_back(system: &dyn System, files: &BTreeMap<String, String>) -> Vec<String> {
    let masks = files.iter().filter(|(path, _)| path.starts_with("/proc/irq/"));
    let lost = masks.filter_map(|(path, former)| {
        let now = system.root().value(path).ok().flatten()?;
        if now == *former {
            return None;
        }
        let error = system.write(path, former).err()?;
        Some(format!("{path}: `{now}` now, before `{former}`: {error}"))
    });
    lost.collect()
}

fn online(cpu: CpuId) -> String {
    format!("/sys/devices/system/cpu/cpu{}/online", cpu.0)
}
