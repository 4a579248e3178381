//! Removes a cgroup without tasks, and records everything needed to recreate it.

use super::{ActionContext, StepResult};
use crate::ApplyError;
use crate::record::{ChangeOutcome, StateAfter, StateBefore};
use machine::Version;
use plan::Change;
use std::time::Duration;

/// Writable files of a cpuset, in the order in which a new one accepts them.
const V1: &[&str] = &[
    "cpus",
    "mems",
    "memory_migrate",
    "mem_hardwall",
    "memory_spread_page",
    "memory_spread_slab",
    "sched_load_balance",
    "sched_relax_domain_level",
    "cpu_exclusive",
    "mem_exclusive",
];
const V2: &[&str] = &[
    "cpuset.cpus",
    "cpuset.mems",
    "cpuset.cpus.exclusive",
    "cpuset.cpus.partition",
];

/// Number of attempts to remove it: the kernel returns EBUSY for a moment after the last task left.
const TRIES: u32 = 50;

pub(crate) fn enact(stage: &mut ActionContext, change: &Change, path: &str) -> Result<StepResult, ApplyError> {
    let files = files(stage, path)?;
    let seq = stage.record_intent(change, StateBefore::Files { files })?;
    let mut outcome = Ok(());
    for _ in 0..TRIES {
        outcome = stage.system.remove_dir(path);
        match outcome.as_ref().map_err(root::RootError::errno) {
            Err(Some(libc::EBUSY)) => stage.system.pause(Duration::from_millis(20)),
            _ => break,
        }
    }
    if let Err(error) = outcome {
        let errno = error.errno().unwrap_or(libc::EIO);
        stage.record_outcome(seq, ChangeOutcome::Refused(errno), StateAfter::Nothing)?;
        return Err(error.into());
    }
    stage.record_outcome(seq, ChangeOutcome::Done, StateAfter::Nothing)?;
    Ok(StepResult {
        seq,
        before: Some("there".to_owned()),
        after: Some("removed".to_owned()),
        outcome: ChangeOutcome::Done,
    })
}

/// Names and texts, in the order for writing them back.
fn files(stage: &ActionContext, path: &str) -> Result<Vec<(String, String)>, ApplyError> {
    let (names, prefixes): (&[&str], &[&str]) = match stage.version {
        Version::V1 => (V1, &["cpuset.", ""]),
        Version::V2 => (V2, &[""]),
    };
    let mut files = Vec::new();
    for name in names {
        for prefix in prefixes {
            let name_here = format!("{prefix}{name}");
            let text = stage.system.root().value(&format!("{path}/{name_here}"))?;
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                files.push((name_here, text));
                break;
            }
        }
    }
    let control = stage.system.root().value(&format!("{path}/cgroup.subtree_control"))?;
    for word in control.iter().flat_map(|words| words.split_whitespace()) {
        files.push(("cgroup.subtree_control".to_owned(), format!("+{word}")));
    }
    Ok(files)
}
