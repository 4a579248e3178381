//! Makes systemd start a slice of ours, then waits for the resulting changes and reads them back.

use super::move_tasks::keep_pin;
use super::{Stage, Step};
use crate::bus::{self, BusError};
use crate::record::{After, Before, Outcome, TaskState};
use crate::{ApplyError, census};
use machine::CpuSet;
use plan::{Change, Compare, Finding, FindingId, Level};
use std::time::Duration;

/// The requested slice.
pub(crate) struct Wanted<'a> {
    /// The unit.
    pub unit: &'a str,
    /// Its cgroup.
    pub path: &'a str,
    /// Its memory nodes.
    pub nodes: &'a str,
}

/// How often to check whether the slice exists; below, the interval.
const LOOKS: u32 = 250;
const BETWEEN: Duration = Duration::from_millis(20);

/// It is no failure if systemd cannot be reached: the partition works without the slice until the next `daemon-reload`.
pub(crate) fn enact(stage: &mut Stage, change: &Change, wanted: &Wanted) -> Result<Step, ApplyError> {
    let Wanted { unit, path, .. } = *wanted;
    let file = format!("{path}/cpuset.mems");
    if has_nodes(stage, wanted) {
        return Ok(Step::unchanged(Some(unit.to_owned()), Outcome::Already));
    }
    // systemd enables the controller itself, and 6.1 drops pins then.
    let control = control_of(path);
    let tasks = census::pinned(stage)?;
    let value = stage.system.root().value(&control)?;
    let before = Before::Value {
        value,
        tasks: tasks.clone(),
    };
    let seq = stage.will(change, before)?;
    let asked = start(stage, wanted)?;
    // Without an answer, systemd may have started it anyway.
    let is_open = |error: &BusError| matches!(error.errno(), libc::ETIMEDOUT | libc::EPROTO);
    if let Err(error) = asked.as_ref().map_err(Clone::clone)
        && !is_open(&error)
    {
        let outcome = Outcome::Refused(error.errno());
        stage.did(seq, outcome.clone(), After::Nothing)?;
        stage.findings.push(refused(unit, &error));
        return Ok(Step {
            seq,
            before: None,
            after: None,
            outcome,
        });
    }
    let mut looks = 0;
    while !has_nodes(stage, wanted) && looks < LOOKS {
        stage.system.pause(BETWEEN);
        looks += 1;
    }
    keep_pins(stage, &tasks)?;
    let found = stage.system.root().value(&file)?;
    let outcome = match has_nodes(stage, wanted) {
        true => Outcome::Done,
        false => Outcome::Otherwise(found.clone().unwrap_or_else(|| "no cpuset files".to_owned())),
    };
    let masks = census::masks_now(stage.system, &tasks);
    let value = stage.system.root().value(&control)?;
    stage.did(seq, outcome.clone(), After::Value { value, masks })?;
    if let (Err(error), true) = (asked, outcome != Outcome::Done) {
        stage.findings.push(refused(unit, &error));
    } else if outcome != Outcome::Done {
        stage
            .findings
            .push(no_controller(wanted, &found.unwrap_or_default()));
    }
    Ok(Step {
        seq,
        before: None,
        after: Some(format!("{unit} is active")),
        outcome,
    })
}

/// Sets the pins again that the kernel has dropped.
fn keep_pins(stage: &mut Stage, tasks: &[TaskState]) -> Result<(), ApplyError> {
    if let Some(online) = stage.usual.first().cloned() {
        for task in tasks {
            keep_pin(stage, task, &online)?;
        }
    }
    Ok(())
}

/// Whether the slice has its memory nodes.
fn has_nodes(stage: &Stage, wanted: &Wanted) -> bool {
    let now = stage.system.root().value(&format!("{}/cpuset.mems", wanted.path));
    now.ok()
        .flatten()
        .is_some_and(|now| !now.is_empty() && Compare::List.same(&now, wanted.nodes))
}

/// Asks systemd to start the slice. It still knows a recently stopped slice until it has cleaned up.
fn start(stage: &Stage, wanted: &Wanted) -> Result<Result<(), BusError>, ApplyError> {
    let list = CpuSet::parse_list(wanted.nodes).unwrap_or_default();
    let lingers =
        |error: &BusError| matches!(error, BusError::Refused { name, .. } if name.ends_with(".UnitExists"));
    let mut asked = stage.system.start_slice(wanted.unit, &list);
    let mut tries = 0;
    while asked.as_ref().is_err_and(lingers) && stage.system.root().kind(wanted.path)?.is_none() && tries < 50
    {
        stage.system.pause(BETWEEN);
        asked = stage.system.start_slice(wanted.unit, &list);
        tries += 1;
    }
    Ok(asked)
}

fn no_controller(wanted: &Wanted, found: &str) -> Finding {
    let Wanted { unit, path, .. } = *wanted;
    let message = format!(
        "systemd started {unit}, and {path}/cpuset.mems reads `{found}`: it does not keep the cpuset controller on"
    );
    Finding::new(Level::Warning, FindingId::SYSTEMD_CONTROLLER, path, message)
        .fix("look for DisableControllers=cpuset in `systemctl cat -- -.slice`; until then, `quietcore undo` and `quietcore apply` after each daemon-reload")
}

/// The file of the parent cgroup that says which controllers the slice has.
pub(crate) fn control_of(path: &str) -> String {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    format!("{above}/cgroup.subtree_control")
}

fn refused(unit: &str, error: &BusError) -> Finding {
    let message = format!(
        "systemd could not be asked to start {unit} ({error}): the partition exists, but is lost at the next \
         `systemctl daemon-reload`, which installing a package may do"
    );
    let fix = match error {
        BusError::Refused { .. } => format!(
            "look at `systemctl status {unit}`; or give any unit that stays active Delegate=cpuset or AllowedMemoryNodes="
        ),
        BusError::Unreachable { .. } | BusError::Garbled { .. } => format!(
            "run it as root where {} can be reached, outside a container or sandbox; or bring the partition up with \
             --install-unit, whose unit asks for the controller itself",
            bus::SOCKET
        ),
    };
    Finding::new(Level::Warning, FindingId::SYSTEMD_BUS, unit, message).fix(fix)
}
