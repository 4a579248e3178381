//! Defines the input of a layer: the machine, its counters, and one wish with the plan that it would need now.

use crate::{IntendedIsolation, IsolationMeans};
use machine::{CpuSet, Machine, Settings, Task};
use observe::Activity;
use plan::boot_check::BootVerdict;
use plan::{Action, Change, Intent, Plan, PlanRefusal, plan_beside};
use std::collections::BTreeMap;

/// What was observed on the machine.
pub struct CheckEvidence<'a> {
    /// Read with tasks, their cgroups, and interrupts.
    pub machine: &'a Machine,
    /// Activity on the CPUs.
    pub counters: &'a ObservedActivity,
    /// The result for the boot line; `None` if it was not requested.
    pub boot: Option<&'a BootVerdict>,
}

/// What happened while the CPUs were observed.
#[derive(Clone, Debug)]
pub enum ObservedActivity {
    /// Observed.
    Seen(Activity),
    /// Not observed, with the reason.
    Unseen(String),
}

/// One wish on the actual machine.
pub struct CheckCase {
    /// The wish.
    pub isolation: IntendedIsolation,
    /// Its CPUs that are online.
    pub cpus: CpuSet,
    /// What it needs now, or why it cannot be met.
    pub plan: Result<Plan, PlanRefusal>,
    /// Contents of the plan's files; the caller that reads them fills this in ([`CheckCase::paths`]). `None` is a missing file.
    pub values: BTreeMap<String, Option<String>>,
    /// Files of the plan that exist but could not be read: their contents are unknown.
    pub unread: Vec<String>,
}

impl CheckCase {
    /// Plans the wish again, next to the other active partitions.
    #[must_use]
    pub fn new(isolation: IntendedIsolation, machine: &Machine, settings: &Settings, others: &[Intent]) -> CheckCase {
        let cpus = isolation.intent.cpus.and(&machine.topology.online);
        let intent = Intent {
            cpus: cpus.clone(),
            ..isolation.intent.clone()
        };
        let plan = plan_beside(machine, settings, &intent, others);
        CheckCase {
            isolation,
            cpus,
            plan,
            values: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// Files and directories that decide whether a change is missing.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        // The cgroup of another program is in no change.
        let dir = |change: &Change| match &change.action {
            Action::MakePartition { path, .. } => path.rsplit_once('/').map(|(dir, _)| dir.to_owned()),
            _ => None,
        };
        let files = self.changes().filter_map(path).map(str::to_owned);
        files.chain(self.changes().filter_map(dir)).collect()
    }

    /// The planned changes; none if there is no plan.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.plan.iter().flat_map(|plan| &plan.changes)
    }

    /// The current content of a change's file; `None` if it does not exist.
    #[must_use]
    pub fn now(&self, change: &Change) -> Option<&str> {
        self.values.get(path(change)?)?.as_deref()
    }

    /// Whether the file of a change could not be read.
    #[must_use]
    pub fn is_unread(&self, change: &Change) -> bool {
        path(change).is_some_and(|path| self.unread.iter().any(|unread| unread == path))
    }

    /// The directory of its cgroup, relative to the mount and absolute; `None` if it has none.
    #[must_use]
    pub fn cgroup(&self, machine: &Machine) -> Option<(String, String)> {
        let hierarchy = machine.cgroups.cpuset.as_ref()?;
        let set = match &self.isolation.means {
            IsolationMeans::Partition | IsolationMeans::Missing => {
                let path = self.isolation.intent.cgroup_path(hierarchy);
                path.strip_prefix(&hierarchy.mount)?.to_owned()
            }
            IsolationMeans::Cpuset(set) => set.clone(),
            IsolationMeans::BootLine | IsolationMeans::Slices | IsolationMeans::Tuned | IsolationMeans::Nothing => {
                return None;
            }
        };
        let dir = hierarchy.dir(&set);
        Some((set, dir))
    }

    /// Whether a task is in the partition, and so belongs here.
    #[must_use]
    pub fn is_inside(&self, machine: &Machine, task: &Task) -> bool {
        let (Some((set, _)), Some(cgroup)) = (self.cgroup(machine), &task.cgroup) else {
            return false;
        };
        machine::is_within(cgroup, &set)
    }

    /// An addition to the message about a change that could not be repaired so far.
    #[must_use]
    pub fn failed_repair_note(&self, change: &Change) -> String {
        match self.isolation.unrepaired.get(&change.id) {
            Some(why) => format!("; the kernel refused to restore it at the last attempt ({why})"),
            None => String::new(),
        }
    }

    /// How to repair it, for a change of ours: `check --fix` if a partition is active, else `apply`. If no plan is possible,
    /// what makes one possible.
    #[must_use]
    pub fn remedy(&self) -> String {
        match (&self.isolation.means, &self.plan) {
            (IsolationMeans::Partition, _) => "`quietcore check --fix`".to_owned(),
            (_, Err(refusal)) => refusal.next_step(),
            (IsolationMeans::Missing, Ok(_)) => "`quietcore apply`".to_owned(),
            (_, Ok(_)) => format!("`quietcore apply --cpus {}`", self.cpus),
        }
    }
}

/// The file or directory that a change concerns.
fn path(change: &Change) -> Option<&str> {
    match &change.action {
        Action::Write { path, .. }
        | Action::MakeSet { path }
        | Action::StartSlice { path, .. }
        | Action::MakePartition { path, .. } => Some(path),
        Action::RemoveSet { .. }
        | Action::GiveFile { .. }
        | Action::BanCpus { .. }
        | Action::MoveTasks { .. }
        | Action::NarrowTasks { .. }
        | Action::CycleCpus { .. } => None,
    }
}
