//! What a layer looks at: the machine, what was counted, and one wish with the plan that it would need now.

use crate::{Means, Wish};
use machine::{CpuSet, Machine, Settings, Task};
use observe::Activity;
use plan::boot_check::BootVerdict;
use plan::{Action, Change, Intent, Plan, partition_path, plan_beside};
use std::collections::BTreeMap;

/// What was seen of the machine.
pub struct Evidence<'a> {
    /// Read with tasks, their cgroups, and interrupts.
    pub machine: &'a Machine,
    /// What happened on the CPUs.
    pub counters: &'a Counters,
    /// What became of the boot line; `None` where nobody asked.
    pub boot: Option<&'a BootVerdict>,
}

/// What happened while somebody looked.
#[derive(Clone, Debug)]
pub enum Counters {
    /// This.
    Seen(Activity),
    /// Nobody looked, and why.
    Unseen(String),
}

/// One wish on the machine as it is.
pub struct Case {
    /// The wish.
    pub wish: Wish,
    /// Its CPUs that are online.
    pub cpus: CpuSet,
    /// What it would need now, or why it cannot be met.
    pub plan: Result<Plan, String>,
    /// What the files of that plan read; whoever may look fills it in ([`Case::paths`]). `None` is a file that is not there.
    pub values: BTreeMap<String, Option<String>>,
    /// Files of that plan that are there and could not be read: what they hold is not known.
    pub unread: Vec<String>,
}

impl Case {
    /// Plans the wish anew, beside the other partitions that are in force.
    #[must_use]
    pub fn new(wish: Wish, machine: &Machine, settings: &Settings, others: &[Intent]) -> Case {
        let cpus = wish.intent.cpus.and(&machine.topology.online);
        let intent = Intent {
            cpus: cpus.clone(),
            ..wish.intent.clone()
        };
        let plan = plan_beside(machine, settings, &intent, others).map_err(|refusal| {
            let text = refusal.to_string();
            text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
        });
        Case {
            wish,
            cpus,
            plan,
            values: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// Files and directories whose content decides whether a change is missing.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.changes().filter_map(path).map(str::to_owned).collect()
    }

    /// The planned changes; none where there is no plan.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.plan.iter().flat_map(|plan| &plan.changes)
    }

    /// What the file of a change reads; `None` where it is not there.
    #[must_use]
    pub fn now(&self, change: &Change) -> Option<&str> {
        self.values.get(path(change)?)?.as_deref()
    }

    /// Whether what a change is about could not be read.
    #[must_use]
    pub fn is_unread(&self, change: &Change) -> bool {
        path(change).is_some_and(|path| self.unread.iter().any(|unread| unread == path))
    }

    /// The directory of its cgroup, below the mount and as a whole; `None` where it has none.
    #[must_use]
    pub fn cgroup(&self, machine: &Machine) -> Option<(String, String)> {
        let hierarchy = machine.cgroups.cpuset.as_ref()?;
        let set = match &self.wish.means {
            Means::Partition | Means::Missing => {
                let path = partition_path(hierarchy, self.wish.intent.name.as_str());
                path.strip_prefix(&hierarchy.mount)?.to_owned()
            }
            Means::Cpuset(set) => set.clone(),
            Means::BootLine | Means::Slices | Means::Tuned | Means::Nothing => return None,
        };
        let dir = hierarchy.dir(&set);
        Some((set, dir))
    }

    /// Whether a task lives in the partition, and so belongs here.
    #[must_use]
    pub fn is_inside(&self, machine: &Machine, task: &Task) -> bool {
        let (Some((set, _)), Some(cgroup)) = (self.cgroup(machine), &task.cgroup) else {
            return false;
        };
        let rest = cgroup.strip_prefix(set.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// What to add to the message about a change that could not be mended so far.
    #[must_use]
    pub fn mending(&self, change: &Change) -> String {
        match self.wish.unmended.get(&change.id) {
            Some(why) => format!("; the kernel refused to set it again when that was last tried ({why})"),
            None => String::new(),
        }
    }

    /// What to do about it, for a change of ours: `check --fix` where a partition is in force, else `apply`.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self.wish.means {
            Means::Partition => "`quietcore check --fix`".to_owned(),
            Means::Missing => "`quietcore apply`".to_owned(),
            _ => format!("`quietcore apply --cpus {}`", self.cpus),
        }
    }
}

/// The file or directory that a change is about.
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
