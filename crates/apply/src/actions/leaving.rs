//! Which changes take CPUs out of a scheduling domain, and where a process stands that shall be on them before and after.

use super::Stage;
use crate::ApplyError;
use machine::{CpuSet, Version};
use plan::{Action, Change};

/// The CPUs that leave a domain by it, and the list of the cgroup that has them before and after; `None` for most changes.
///
/// On v2 a partition leaves the domains of its parent. On v1 there are domains over the sets that balance: over the root, or,
/// where that does not, over others that hold everything else.
pub(super) fn domain(stage: &Stage, change: &Change) -> Result<Option<(CpuSet, String)>, ApplyError> {
    let value = |path: &str| stage.system.root().value(path);
    let cpus_of = |path: &str| -> Result<CpuSet, ApplyError> {
        Ok(value(path)?
            .and_then(|text| CpuSet::parse_list(&text).ok())
            .unwrap_or_default())
    };
    let root_list = || format!("{}/tasks", stage.mount);
    let leaving = match (&change.action, stage.version) {
        (Action::MakePartition { path, .. }, _) => {
            let Some((dir, _)) = path.rsplit_once('/') else {
                return Ok(None);
            };
            (
                cpus_of(&format!("{dir}/cpuset.cpus"))?,
                format!("{dir}/cgroup.procs"),
            )
        }
        (
            Action::Write {
                path, value: word, ..
            },
            Version::V1,
        ) => {
            let Some((dir, file)) = path
                .rsplit_once('/')
                .filter(|(dir, _)| dir.starts_with(stage.mount))
            else {
                return Ok(None);
            };
            if value(&format!("{dir}/cpuset.sched_load_balance"))?.as_deref() != Some("1") {
                return Ok(None);
            }
            match file {
                "cpuset.sched_load_balance" if word == "0" && dir == stage.mount => {
                    (stage.isolating.clone(), root_list())
                }
                // A new set balances, so the CPUs of a further partition leave with this word.
                "cpuset.sched_load_balance" if word == "0" => {
                    let cpus = cpus_of(&format!("{dir}/cpuset.cpus"))?;
                    (cpus.and(stage.isolating), root_list())
                }
                "cpuset.cpus" if dir != stage.mount => {
                    let stays = CpuSet::parse_list(word).unwrap_or_default();
                    (cpus_of(path)?.minus(&stays).and(stage.isolating), root_list())
                }
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(leaving).filter(|(cpus, _)| !cpus.is_empty()))
}
