//! Makes systemd start a slice of ours, then waits for the resulting changes and reads them back.

use super::move_tasks::keep_pin;
use super::{Stage, Step};
use crate::bus::{self, BusError};
use crate::record::{After, Before, Outcome};
use crate::{ApplyError, census};
use machine::CpuSet;
use plan::{Change, Compare, Finding, Level};
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
    let Wanted { unit, path, nodes } = *wanted;
    let file = format!("{path}/cpuset.mems");
    let asks = |stage: &Stage| {
        let now = stage.system.root().value(&file).ok().flatten();
        now.is_some_and(|now| !now.is_empty() && Compare::List.same(&now, nodes))
    };
    if asks(stage) {
        return Ok(Step {
            seq: 0,
            before: Some(unit.to_owned()),
            after: Some(unit.to_owned()),
            outcome: Outcome::Already,
        });
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
    let list = CpuSet::parse_list(nodes).unwrap_or_default();
    let mut asked = stage.system.start_slice(unit, &list);
    // systemd still knows a recently stopped slice until it has cleaned up.
    let lingers =
        |error: &BusError| matches!(error, BusError::Refused { name, .. } if name.ends_with(".UnitExists"));
    let mut tries = 0;
    while asked.as_ref().is_err_and(lingers) && stage.system.root().kind(path)?.is_none() && tries < 50 {
        stage.system.pause(BETWEEN);
        asked = stage.system.start_slice(unit, &list);
        tries += 1;
    }
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
    while !asks(stage) && looks < LOOKS {
        stage.system.pause(BETWEEN);
        looks += 1;
    }
    if let Some(online) = stage.usual.first().cloned() {
        for task in &tasks {
            keep_pin(stage, task, &online)?;
        }
    }
    let found = stage.system.root().value(&file)?;
    let outcome = match asks(stage) {
        true => Outcome::Done,
        false => Outcome::Otherwise(found.clone().unwrap_or_else(|| "no cpuset files".to_owned())),
    };
    let masks = census::masks_now(stage.system, &tasks);
    let value = stage.system.root().value(&control)?;
    stage.did(seq, outcome.clone(), After::Value { value, masks })?;
    if let (Err(error), true) = (asked, outcome != Outcome::Done) {
        stage.findings.push(refused(unit, &error));
    } else if outcome != Outcome::Done {
        let message = format!(
            "systemd started {unit}, and {file} reads `{}`: it does not keep the cpuset controller on",
            found.unwrap_or_default()
        );
        stage.findings.push(
            Finding::new(Level::Warning, "systemd-controller", path, message)
                .fix("look for DisableControllers=cpuset in `systemctl cat -- -.slice`; until then, `quietcore undo` and `quietcore apply` after each daemon-reload"),
        );
    }
    Ok(Step {
        seq,
        before: None,
        after: Some(format!("{unit} is active")),
        outcome,
    })
}

/// The file of the parent cgroup that says which controllers the slice has.
pub(crate) fn control_of(path: &str) -> String {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    format!("{above}/cgroup.subtree_control")
}

fn refused(unit: &str, error: &BusError) -> Finding {
    let message = format!(
        "systemd could not be asked to start {unit} ({error}): the partition stands, and goes at the next \
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
    Finding::new(Level::Warning, "systemd-bus", unit, message).fix(fix)
}
