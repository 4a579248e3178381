//! Holds what an action of `apply` works with: the machine, the journal, and the state of the active partitions.

use crate::record::{ChangeOutcome, JournalEvent, StateAfter, StateBefore, TaskState};
use crate::{ApplyError, BusyLoops, Journal, System};
use machine::tasks::ThreadList;
use machine::{CpuSet, Version};
use plan::{Change, Finding};

/// What an action works with.
pub(crate) struct ActionContext<'a, 'j> {
    /// The machine.
    pub system: &'a dyn System,
    /// The journal, open for this apply.
    pub journal: &'a mut Journal<'j>,
    /// Version of the cpuset hierarchy.
    pub version: Version,
    /// Where that hierarchy is mounted.
    pub mount: &'a str,
    /// Whether unpinned tasks may be recorded together.
    pub recording_mode: RecordingMode,
    /// Cgroups of the active partitions; tasks in them are not changed.
    pub others: &'a [String],
    /// CPUs of the active partitions.
    pub reserved_cpus: &'a CpuSet,
    /// Masks of unpinned tasks: the online CPUs minus those of the active partitions. Once this partition has taken
    /// its CPUs, also minus those.
    pub usual: &'a [CpuSet],
    /// Tasks that were pinned when this apply first checked. The time until its last write is short, so ten thousand
    /// other tasks are not checked again.
    pub pins: &'a mut Option<Vec<TaskState>>,
    /// The threads that were listed by that check.
    pub threads: &'a mut Option<ThreadList>,
    /// What the file held before the layer, if another program may have written to it since: undo restores this value,
    /// not that program's. `None` in an apply.
    pub content_before: Option<&'a str>,
    /// CPUs to isolate.
    pub isolating: &'a CpuSet,
    /// Processes that keep CPUs busy during this change, if it takes them out of a scheduling domain.
    pub busy: BusyLoops,
    /// Findings for the user.
    pub findings: &'a mut Vec<Finding>,
}

/// How moved tasks are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordingMode {
    /// Unpinned tasks by ID only: a partition takes all of them, and returns all.
    Together,
    /// Each with its mask: explicitly named tasks are restored one by one.
    OneByOne,
}

/// One line of what was done, for tables and JSON.
#[derive(Clone, Debug)]
pub(crate) struct StepResult {
    /// `seq` of the journal record; 0 if nothing was written.
    pub seq: u64,
    /// The former state.
    pub before: Option<String>,
    /// The current state.
    pub after: Option<String>,
    /// The outcome.
    pub outcome: ChangeOutcome,
}

impl StepResult {
    /// For a change that wrote nothing.
    pub fn unchanged(value: Option<String>, outcome: ChangeOutcome) -> StepResult {
        StepResult {
            seq: 0,
            before: value.clone(),
            after: value,
            outcome,
        }
    }
}

impl ActionContext<'_, '_> {
    /// Whether a cgroup is a partition that is active already.
    pub fn is_active_partition(&self, cgroup: &str) -> bool {
        self.others.iter().any(|other| machine::is_within(cgroup, other))
    }

    /// Whether a mask is that of an unpinned task: it has every CPU that all other tasks have.
    pub fn is_usual(&self, mask: &CpuSet) -> bool {
        self.usual.contains(mask) || self.is_everywhere(mask)
    }

    /// Whether a mask has every CPU that this partition and all other tasks share: such a task is not pinned.
    pub fn is_everywhere(&self, mask: &CpuSet) -> bool {
        self.usual.first().is_some_and(|all| all.is_subset(mask))
    }

    /// A task as recorded before it is moved. CPUs that active partitions took from an unpinned task are added: it
    /// gets them back if those partitions end before this layer.
    pub fn state_to_record(&self, state: TaskState) -> TaskState {
        match self.is_everywhere(&state.mask) {
            true => TaskState {
                mask: state.mask.or(self.reserved_cpus),
                ..state
            },
            false => state,
        }
    }

    /// Records the state before a write.
    pub fn record_intent(&mut self, change: &Change, before: StateBefore) -> Result<u64, ApplyError> {
        self.journal.append(JournalEvent::Will {
            change: change.id.clone(),
            before,
        })
    }

    /// Records the outcome.
    pub fn record_outcome(&mut self, of: u64, outcome: ChangeOutcome, after: StateAfter) -> Result<(), ApplyError> {
        self.journal
            .append(JournalEvent::Did { of, outcome, after })
            .map(|_| ())
    }

    /// Like [`ActionContext::record_intent`], for a value that does not affect task masks.
    pub fn record_value_intent(&mut self, change: &Change, value: Option<String>) -> Result<u64, ApplyError> {
        let tasks = Vec::new();
        self.record_intent(change, StateBefore::Value { value, tasks })
    }

    /// Like [`ActionContext::record_outcome`], for such a value.
    pub fn record_value_outcome(
        &mut self,
        of: u64,
        outcome: ChangeOutcome,
        value: Option<String>,
    ) -> Result<(), ApplyError> {
        let masks = Vec::new();
        self.record_outcome(of, outcome, StateAfter::Value { value, masks })
    }
}
