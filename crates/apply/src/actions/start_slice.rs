//! Makes systemd start a slice of ours, then waits for the resulting changes and reads them back.

use super::move_tasks::restore_pin;
use super::{ActionContext, StepResult};
use crate::bus::{self, BusError};
use crate::record::{ChangeOutcome, StateAfter, StateBefore, TaskState};
use crate::{ApplyError, census};
use machine::CpuSet;
use plan::{Change, Finding, FindingId, Level, ReadbackComparison};
use std::time::Duration;

/// The requested slice.
pub(crate) struct SliceRequest<'a> {
    /// The unit.
    pub unit: &'a str,
    /// Its cgroup.
    pub path: &'a str,
    /// Its memory nodes.
    pub nodes: &'a str,
}

/// How often to check whether the slice exists; below, the interval.
const MAX_POLLS: u32 = 250;
const BETWEEN: Duration = Duration::from_millis(20);

/// It is no failure if systemd cannot be reached: the partition works without the slice until the next `daemon-reload`.
pub(crate) fn enact(
    stage: &mut ActionContext,
    change: &Change,
    slice: &SliceRequest,
) -> Result<StepResult, ApplyError> {
    let SliceRequest { unit, path, .. } = *slice;
    let file = format!("{path}/cpuset.mems");
    if has_nodes(stage, slice) {
        return Ok(StepResult::unchanged(Some(unit.to_owned()), ChangeOutcome::Already));
    }
    // systemd enables the controller itself, and 6.1 drops pins then.
    let control = control_of(path);
    let tasks = census::pinned(stage)?;
    let value = stage.system.root().value(&control)?;
    let before = StateBefore::Value {
        value,
        tasks: tasks.clone(),
    };
    let seq = stage.record_intent(change, before)?;
    let start_result = start(stage, slice)?;
    // Without an answer, systemd may have started it anyway.
    let is_open = |error: &BusError| matches!(error.errno(), libc::ETIMEDOUT | libc::EPROTO);
    if let Err(error) = start_result.as_ref().map_err(Clone::clone)
        && !is_open(&error)
    {
        let outcome = ChangeOutcome::Refused(error.errno());
        stage.record_outcome(seq, outcome.clone(), StateAfter::Nothing)?;
        stage.findings.push(refused(unit, &error));
        return Ok(StepResult {
            seq,
            before: None,
            after: None,
            outcome,
        });
    }
    wait_for_nodes(stage, slice);
    restore_pins(stage, &tasks)?;
    let found = stage.system.root().value(&file)?;
    let outcome = match has_nodes(stage, slice) {
        true => ChangeOutcome::Done,
        false => ChangeOutcome::Otherwise(found.clone().unwrap_or_else(|| "no cpuset files".to_owned())),
    };
    let masks = census::masks_now(stage.system, &tasks);
    let value = stage.system.root().value(&control)?;
    stage.record_outcome(seq, outcome.clone(), StateAfter::Value { value, masks })?;
    if let (Err(error), true) = (start_result, outcome != ChangeOutcome::Done) {
        stage.findings.push(refused(unit, &error));
    } else if outcome != ChangeOutcome::Done {
        stage.findings.push(no_controller(slice, &found.unwrap_or_default()));
    }
    Ok(StepResult {
        seq,
        before: None,
        after: Some(format!("{unit} is active")),
        outcome,
    })
}

fn wait_for_nodes(stage: &ActionContext, slice: &SliceRequest) {
    let mut polls = 0;
    while !has_nodes(stage, slice) && polls < MAX_POLLS {
        stage.system.pause(BETWEEN);
        polls += 1;
    }
}

/// Sets the pins again that the kernel has dropped.
fn restore_pins(stage: &mut ActionContext, tasks: &[TaskState]) -> Result<(), ApplyError> {
    if let Some(online) = stage.usual.first().cloned() {
        for task in tasks {
            restore_pin(stage, task, &online)?;
        }
    }
    Ok(())
}

/// Whether the slice has its memory nodes.
fn has_nodes(stage: &ActionContext, slice: &SliceRequest) -> bool {
    let now = stage.system.root().value(&format!("{}/cpuset.mems", slice.path));
    now.ok()
        .flatten()
        .is_some_and(|now| !now.is_empty() && ReadbackComparison::List.same(&now, slice.nodes))
}

/// Asks systemd to start the slice. It still knows a recently stopped slice until it has cleaned up.
fn start(stage: &ActionContext, slice: &SliceRequest) -> Result<Result<(), BusError>, ApplyError> {
    let list = CpuSet::parse_list(slice.nodes).unwrap_or_default();
    let lingers = |error: &BusError| matches!(error, BusError::Refused { name, .. } if name.ends_with(".UnitExists"));
    let mut start_result = stage.system.start_slice(slice.unit, &list);
    let mut tries = 0;
    while start_result.as_ref().is_err_and(lingers) && stage.system.root().kind(slice.path)?.is_none() && tries < 50 {
        stage.system.pause(BETWEEN);
        start_result = stage.system.start_slice(slice.unit, &list);
        tries += 1;
    }
    Ok(start_result)
}

fn no_controller(slice: &SliceRequest, found: &str) -> Finding {
    let SliceRequest { unit, path, .. } = *slice;
    let message = format!(
        "systemd started {unit}, but {path}/cpuset.mems reads `{found}`: it does not keep the cpuset controller enabled"
    );
    Finding::new(Level::Warning, FindingId::SYSTEMD_CONTROLLER, path, message).fix(
        "check for DisableControllers=cpuset in `systemctl cat -- -.slice`; until it is removed, run `quietcore \
             undo` and `quietcore apply` after each daemon-reload",
    )
}

/// The file of the parent cgroup that says which controllers the slice has.
pub(crate) fn control_of(path: &str) -> String {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    format!("{above}/cgroup.subtree_control")
}

fn refused(unit: &str, error: &BusError) -> Finding {
    let message = format!(
        "systemd could not be asked to start {unit} ({error}): the partition exists, but is lost at the next \
         `systemctl daemon-reload`, which the installation of a package can trigger"
    );
    let fix = match error {
        BusError::Refused { .. } => format!(
            "check `systemctl status {unit}`; or set Delegate=cpuset or AllowedMemoryNodes= in any unit that stays \
             active"
        ),
        BusError::Unreachable { .. } | BusError::Garbled { .. } => format!(
            "run it as root where {} can be reached, outside a container or sandbox; or start the partition with \
             --install-unit, whose unit requests the controller itself",
            bus::SOCKET
        ),
    };
    Finding::new(Level::Warning, FindingId::SYSTEMD_BUS, unit, message).fix(fix)
}
