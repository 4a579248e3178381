//! Removes the CPUs of a layer from irqbalance's list. This is the last step, because it waits for the daemon's next scan.

use super::step::UndoStep;
use super::{ActiveIrqbalance, Force, UndoOutcome};
use crate::entry::ChangeEntry;
use crate::record::{ChangeOutcome, JournalRecord, StateBefore};
use crate::{System, bans};
use machine::{CpuSet, Machine, TaskKey, irqbalance};
use plan::Action;
use std::time::Duration;

/// The longest wait for its next scan; newer versions scan once a minute.
const PATIENCE_S: u64 = 12;
const BETWEEN: Duration = Duration::from_millis(250);

/// Gives irqbalance the list without the CPUs that this step added; `None` for a step of another kind.
pub(super) fn undo_ban(
    system: &dyn System,
    records: &[JournalRecord],
    step: &UndoStep,
    undone: &mut UndoOutcome,
) -> Option<ChangeEntry> {
    let Action::BanCpus { daemon, cpus } = &step.change.action else {
        return None;
    };
    let StateBefore::Value { value, .. } = step.before else {
        return None;
    };
    let daemon = *daemon;
    if !irqbalance::is_running(system.root(), daemon) {
        undone.notes.push(format!(
            "the irqbalance that banned CPU {cpus} for quietcore (process {}) has ended, and its list with it; one \
             that was started later has its own",
            daemon.tid
        ));
        return Some(step.entry(None, None, ChangeOutcome::Gone));
    }
    let setup = match bans::setup(system, daemon) {
        Ok(setup) => setup,
        Err(error) => return Some(fail(step, daemon, undone, &error)),
    };
    let former = CpuSet::parse_list(value.as_deref().unwrap_or_default()).unwrap_or_default();
    let added = cpus.minus(&former);
    let list = bans::in_force(records, daemon, &setup);
    let shown = Some(list.to_string());
    if !added.intersects(&list) && list == former {
        return Some(step.entry(shown.clone(), shown, ChangeOutcome::Already));
    }
    if !added.is_subset(&list) && step.force != Force::Restore {
        undone.drift.push(format!(
            "irqbalance (process {}): bans CPU `{list}`; quietcore added `{added}`, previously `{former}`",
            daemon.tid
        ));
        return Some(step.entry(shown.clone(), shown, ChangeOutcome::Drift(list.to_string())));
    }
    let intended = bans::without(&list, &former, cpus);
    // A daemon that uses its own list must not end up with an explicitly set one.
    let own = irqbalance::own_bans(system.root(), daemon).filter(|own| *own == intended);
    let given = if own.is_some() { None } else { Some(&intended) };
    if let Err(error) = bans::ban(system, daemon, given) {
        return Some(fail(step, daemon, undone, &error));
    }
    Some(match wait(system, daemon, &intended, setup.interval_s) {
        Ok(true) => step.entry(shown, Some(intended.to_string()), ChangeOutcome::Done),
        Ok(false) => {
            undone.notes.push(format!(
                "irqbalance (process {}) was notified to ban CPU `{intended}` again, and does so at its next scan, \
                 every {} s",
                daemon.tid, setup.interval_s
            ));
            step.entry(shown, Some(intended.to_string()), ChangeOutcome::Done)
        }
        Err(error) => fail(step, daemon, undone, &error),
    })
}

/// The interrupt number in the path of its file.
pub(crate) fn irq_of(path: &str) -> Option<&str> {
    let (number, _) = path.strip_prefix("/proc/irq/")?.split_once('/')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// Whether a file is the mask of an interrupt that a running irqbalance has placed, so that it is no drift.
pub(super) fn is_placed(system: &dyn System, path: &str, undone: &mut UndoOutcome) -> bool {
    let Some(number) = irq_of(path) else { return false };
    let look = || {
        let machine = Machine::read(system.root()).with_tasks(system.root());
        machine.irqbalance().map(|daemon| ActiveIrqbalance {
            pid: daemon.pid,
            left_alone: irqbalance::left_alone(system.root(), daemon),
        })
    };
    let placer = undone.placer.get_or_insert_with(look);
    let is_left_alone = |placer: &ActiveIrqbalance| number.parse().is_ok_and(|irq| placer.left_alone.contains(&irq));
    let is_placed = placer.as_ref().is_some_and(|placer| !is_left_alone(placer));
    if is_placed {
        undone.placed.insert(number.to_owned());
    }
    is_placed
}

/// Reports which interrupts stay where irqbalance put them.
pub(super) fn report_placed_interrupts(undone: &mut UndoOutcome) {
    if let (Some(Some(ActiveIrqbalance { pid, .. })), false) = (&undone.placer, undone.placed.is_empty()) {
        let numbers: Vec<&str> = undone.placed.iter().map(String::as_str).collect();
        undone.notes.push(format!(
            "irqbalance (process {pid}) has moved interrupts {} since and will do so again, so they are left to it",
            numbers.join(", ")
        ));
        undone.placed.clear();
    }
}

/// Waits until irqbalance reports this list; false if it has not scanned in time.
fn wait(system: &dyn System, daemon: TaskKey, intended: &CpuSet, interval_s: u64) -> Result<bool, root::RootError> {
    let limit = Duration::from_secs((interval_s + 1).min(PATIENCE_S));
    let mut waited = Duration::ZERO;
    loop {
        if bans::setup(system, daemon)?.banned == *intended {
            return Ok(true);
        }
        if waited >= limit {
            return Ok(false);
        }
        system.pause(BETWEEN);
        waited += BETWEEN;
    }
}

fn fail(step: &UndoStep, daemon: TaskKey, undone: &mut UndoOutcome, error: &root::RootError) -> ChangeEntry {
    undone.failed.push(format!(
        "irqbalance (process {}) keeps its list: {error}; restart it to restore its own",
        daemon.tid
    ));
    step.entry(
        None,
        None,
        ChangeOutcome::Refused(error.errno().unwrap_or(libc::EPROTO)),
    )
}
