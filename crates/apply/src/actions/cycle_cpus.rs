//! Takes CPUs offline and online again to move timers off them, then restores what the kernel widened.
//!
//! When the last CPU of an interrupt's mask goes offline, the kernel gives the interrupt all other CPUs
//! (`irq_migrate_all_off_this_cpu`). A task that was pinned there gets the CPUs of its cgroup (`select_fallback_rq`).
//! The kernel reverts neither.

use super::move_tasks::restore_pin;
use super::{ActionContext, StepResult, refusal, write};
use crate::record::{ChangeOutcome, StateAfter, StateBefore};
use crate::{ApplyError, System, census, fingerprint};
use machine::{CpuId, CpuSet, Machine};
use plan::{Change, Finding, FindingId, Level};
use root::RootError;
use std::collections::BTreeMap;

pub(crate) fn enact(stage: &mut ActionContext, change: &Change, cpus: &CpuSet) -> Result<StepResult, ApplyError> {
    let machine = Machine::read(stage.system.root());
    let files = fingerprint::files(stage.system.root(), &machine.cgroups);
    let tasks = census::pinned(stage)?;
    let before = StateBefore::Value {
        value: change.before.clone(),
        tasks: tasks.clone(),
    };
    let seq = stage.record_intent(change, before)?;
    let mut offline = Vec::new();
    for cpu in cpus.iter() {
        match stage.system.write(&online(cpu), "0").map_err(refusal) {
            Ok(()) => offline.push(cpu),
            Err(Ok(errno)) => {
                write::report(stage, change, None, errno)?;
            }
            Err(Err(error)) => return Err(error),
        }
    }
    // If a CPU does not come back, the record stays unanswered, and undo tries again.
    let stays_off: Vec<String> = bring_online(stage.system, &offline);
    if !stays_off.is_empty() {
        return Err(ApplyError::Unable {
            why: format!(
                "a CPU was taken offline and does not come back: {}",
                stays_off.join("; ")
            ),
            next: "check the kernel log (dmesg), then run `quietcore undo`".to_owned(),
        });
    }
    for lost in restore_masks(stage.system, &files) {
        let path = lost.split(':').next().unwrap_or_default().to_owned();
        stage
            .findings
            .push(Finding::new(Level::Warning, FindingId::MASK_LOST, path, lost));
    }
    for task in &tasks {
        restore_pin(stage, task, &machine.topology.online)?;
    }
    let outcome = match offline.is_empty() {
        true => ChangeOutcome::Refused(libc::EBUSY),
        false => ChangeOutcome::Done,
    };
    let masks = census::masks_now(stage.system, &tasks);
    let value = change.before.clone();
    stage.record_outcome(seq, outcome.clone(), StateAfter::Value { value, masks })?;
    Ok(StepResult {
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
        let now = system.root().readable_value(path);
        now.as_deref() == Some("0")
    });
    off.filter_map(|path| system.write(&path, "1").err().map(|error| failed(&path, error)))
        .collect()
}

/// Restores the former masks of interrupts; returns one line per failure.
pub(crate) fn restore_masks(system: &dyn System, files: &BTreeMap<String, String>) -> Vec<String> {
    let masks = files.iter().filter(|(path, _)| path.starts_with("/proc/irq/"));
    let lost = masks.filter_map(|(path, former)| {
        let now = system.root().readable_value(path)?;
        if now == *former {
            return None;
        }
        let error = system.write(path, former).err()?;
        Some(format!("{path}: `{now}`, previously `{former}`: {error}"))
    });
    lost.collect()
}

fn online(cpu: CpuId) -> String {
    format!("/sys/devices/system/cpu/cpu{}/online", cpu.0)
}
