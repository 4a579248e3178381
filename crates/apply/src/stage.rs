//! What an action of `apply` works with: the machine, the journal, and what is known of the partitions in force.

use crate::layers::is_in;
use crate::record::{After, Before, Event, Outcome, TaskState};
use crate::{ApplyError, Busy, Journal, System};
use machine::{CpuSet, Version};
use plan::{Change, Finding};

/// What an action works with.
pub(crate) struct Stage<'a, 'j> {
    /// The machine.
    pub system: &'a dyn System,
    /// The journal, open for this apply.
    pub journal: &'a mut Journal<'j>,
    /// Version of the cpuset hierarchy.
    pub version: Version,
    /// Where that hierarchy is mounted.
    pub mount: &'a str,
    /// Whether tasks that nobody pinned may be noted together.
    pub noting: Noting,
    /// Cgroups of the partitions in force: their tasks are not touched.
    pub others: &'a [String],
    /// CPUs of the partitions in force.
    pub taken: &'a CpuSet,
    /// Masks of tasks that nobody pinned: the online CPUs less those of the partitions in force, and once this one
    /// has taken its CPUs, less those too.
    pub usual: &'a [CpuSet],
    /// Who was pinned when this apply first looked. Until its last write that is a blink, so nobody looks again at ten
    /// thousand others.
    pub pins: &'a mut Option<Vec<TaskState>>,
    /// What the file held before the layer, where somebody else may have written to it since: undo gives this back, and
    /// not what that left. Nothing in an apply.
    pub stood: Option<&'a str>,
    /// CPUs that are to be isolated.
    pub isolating: &'a CpuSet,
    /// Who keeps CPUs busy during this change, if that takes them out of a scheduling domain.
    pub busy: Busy,
    /// What the user must hear.
    pub findings: &'a mut Vec<Finding>,
}

/// How tasks that are moved are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noting {
    /// Those that nobody pinned by number only: a partition takes all of them, and gives all back.
    Together,
    /// Each with its mask: what is named one by one is given back one by one.
    OneByOne,
}

/// One line of what was done, for tables and JSON.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// `seq` of the journal record, 0 where nothing was written.
    pub seq: u64,
    /// What was there.
    pub before: Option<String>,
    /// What is there.
    pub after: Option<String>,
    /// How it went.
    pub outcome: Outcome,
}

impl Stage<'_, '_> {
    /// Whether a cgroup is a partition that is in force already.
    pub fn holds(&self, cgroup: &str) -> bool {
        self.others.iter().any(|other| is_in(cgroup, other))
    }

    /// Whether a mask is that of a task that nobody pinned: it leaves nothing out that everything else has.
    pub fn is_usual(&self, mask: &CpuSet) -> bool {
        self.usual.contains(mask) || self.is_everywhere(mask)
    }

    /// Whether a mask has every CPU that this partition and everybody else share: nobody pinned such a task.
    pub fn is_everywhere(&self, mask: &CpuSet) -> bool {
        self.usual.first().is_some_and(|all| all.is_subset(mask))
    }

    /// A task as it is noted before it is moved. What partitions in force took from one that nobody pinned is no pin:
    /// when they go before this layer does, it shall have that again.
    pub fn noted(&self, state: TaskState) -> TaskState {
        match self.is_everywhere(&state.mask) {
            true => TaskState {
                mask: state.mask.or(self.taken),
                ..state
            },
            false => state,
        }
    }

    /// Records what was there before a write.
    pub fn will(&mut self, change: &Change, before: Before) -> Result<u64, ApplyError> {
        self.journal.append(Event::Will {
            change: change.id.clone(),
            before,
        })
    }

    /// Records how it went.
    pub fn did(&mut self, of: u64, outcome: Outcome, after: After) -> Result<(), ApplyError> {
        self.journal.append(Event::Did { of, outcome, after }).map(|_| ())
    }

    /// As [`Stage::will`] for a value on which no task's mask depends.
    pub fn will_value(&mut self, change: &Change, value: Option<String>) -> Result<u64, ApplyError> {
        let tasks = Vec::new();
        self.will(change, Before::Value { value, tasks })
    }

    /// As [`Stage::did`] for such a value.
    pub fn did_value(&mut self, of: u64, outcome: Outcome, value: Option<String>) -> Result<(), ApplyError> {
        let masks = Vec::new();
        self.did(of, outcome, After::Value { value, masks })
    }
}
