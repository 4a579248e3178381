//! Finds the CPUs that a change takes out of a scheduling domain, and the cgroup for a process that must run on them
//! before and after.

use super::ActionContext;
use crate::ApplyError;
use machine::{CpuSet, Version};
use plan::{Action, Change};

/// The CPUs that leave a domain (possibly none), and the task list of the cgroup where a process stays on them before and after.
type DomainDeparture = Option<(CpuSet, String)>;

/// The CPUs that leave a domain through this change, and that task list; `None` for most changes.
pub(super) fn domain(stage: &ActionContext, change: &Change) -> Result<DomainDeparture, ApplyError> {
    let leaving = match (&change.action, stage.version) {
        (Action::MakePartition { path, .. }, _) => by_partition(stage, path)?,
        (Action::Write { path, value, .. }, Version::V1) => by_balance(stage, path, value)?,
        _ => None,
    };
    Ok(leaving.filter(|(cpus, _)| !cpus.is_empty()))
}

/// On v2 a partition leaves the domains of its parent.
fn by_partition(stage: &ActionContext, path: &str) -> Result<DomainDeparture, ApplyError> {
    let Some((dir, _)) = path.rsplit_once('/') else {
        return Ok(None);
    };
    let exclusive = cpus(stage, &format!("{dir}/cpuset.cpus.exclusive"))?;
    let leaving = match exclusive.is_empty() {
        true => cpus(stage, &format!("{dir}/cpuset.cpus"))?,
        false => exclusive,
    };
    Ok(Some((leaving, format!("{dir}/cgroup.procs"))))
}

/// On v1 the domains cover the sets with load balancing: the root, or, if the root does not balance, the sets that hold
/// everything else. So CPUs leave when their set stops balancing, or when a balancing set loses them.
fn by_balance(stage: &ActionContext, path: &str, word: &str) -> Result<DomainDeparture, ApplyError> {
    let place = path.rsplit_once('/').filter(|(dir, _)| dir.starts_with(stage.mount));
    let Some((dir, file)) = place else {
        return Ok(None);
    };
    let balances = stage.system.root().value(&format!("{dir}/cpuset.sched_load_balance"))?;
    if balances.as_deref() != Some("1") || (dir != stage.mount && root_balances(stage)?) {
        return Ok(None);
    }
    let leave = match file {
        "cpuset.sched_load_balance" if word == "0" && dir == stage.mount => stage.isolating.clone(),
        // A new set balances, so this write makes the CPUs of a further partition leave.
        "cpuset.sched_load_balance" if word == "0" => cpus(stage, &format!("{dir}/cpuset.cpus"))?.and(stage.isolating),
        "cpuset.cpus" if dir != stage.mount => {
            let stays = CpuSet::parse_list(word).unwrap_or_default();
            cpus(stage, path)?.minus(&stays).and(stage.isolating)
        }
        _ => return Ok(None),
    };
    Ok(Some((leave, format!("{}/tasks", stage.mount))))
}

/// Whether the root balances: its one domain then covers all CPUs, whatever the other sets say (`generate_sched_domains` in
/// `kernel/cgroup/cpuset.c`).
fn root_balances(stage: &ActionContext) -> Result<bool, ApplyError> {
    let path = format!("{}/cpuset.sched_load_balance", stage.mount);
    Ok(stage.system.root().value(&path)?.as_deref() == Some("1"))
}

/// The CPUs in a file of a set; empty if the file does not exist.
fn cpus(stage: &ActionContext, path: &str) -> Result<CpuSet, ApplyError> {
    let text = stage.system.root().value(path)?;
    Ok(text.and_then(|text| CpuSet::parse_list(&text).ok()).unwrap_or_default())
}
