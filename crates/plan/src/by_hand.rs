//! Builds explicitly requested changes, as the front ends make them: a cpuset created, changed or removed, tasks moved.
//! They are handled like every other change: planned as data, journalled, read back, undone.

use crate::{
    Action, Change, Intent, IntentKind, PartitionName, Plan, Profile, ReadbackComparison, RefusalPolicy, TaskSelector,
    UndoMethod,
};
use machine::CpuSet;

/// A list of such changes under a name, with the intent that represents it in the journal. The intent isolates no CPUs.
#[must_use]
pub fn by_hand(name: PartitionName, mut changes: Vec<Change>) -> (Intent, Plan) {
    // One file may be written twice: a set shrinks before another grows.
    for (number, change) in changes.iter_mut().enumerate() {
        change.id = format!("by_hand/{}{}", number + 1, change.target);
    }
    let plan = Plan {
        partition: name.to_string(),
        profile: Profile::Minimal,
        changes,
        ..Plan::default()
    };
    let mut intent = Intent::new(name, CpuSet::new(), Profile::Minimal);
    intent.kind = IntentKind::ByHand;
    (intent, plan)
}

/// The change that creates a cpuset at this path.
#[must_use]
pub fn make_set(path: &str) -> Change {
    change(
        path,
        "a new cgroup",
        "move its tasks back, then remove it",
        Action::MakeSet { path: path.to_owned() },
    )
}

/// Removing a cpuset that holds no tasks.
#[must_use]
pub fn remove_set(path: &str) -> Change {
    change(
        path,
        "no such cgroup",
        "create it again with the files it had",
        Action::RemoveSet { path: path.to_owned() },
    )
}

/// Writing a file of a cpuset, with its former text as far as it is known.
#[must_use]
pub fn write(path: &str, before: Option<String>, value: &str, compare: ReadbackComparison, undo: UndoMethod) -> Change {
    let policy = (RefusalPolicy::Fatal, undo);
    requested(Change::write(path, before, value, compare, policy))
}

/// Turning a v2 cgroup into a partition that keeps balancing.
#[must_use]
pub fn make_partition(path: &str) -> Change {
    let action = Action::MakePartition {
        path: path.to_owned(),
        words: vec!["root".to_owned()],
    };
    change(path, "root", "write `member`", action)
}

/// Moving these threads (v2: their processes) into a set with these CPUs.
#[must_use]
pub fn move_tasks(tids: Vec<u32>, to: &str, cpus: &CpuSet) -> Change {
    let after = format!("{} tasks", tids.len());
    let action = Action::MoveTasks {
        from: String::new(),
        to: to.to_owned(),
        cpus: cpus.clone(),
        who: TaskSelector::These(tids),
    };
    let back = "every task returns to its former cpuset and mask";
    change(&format!("{to}/tasks"), &after, back, action)
}

fn change(path: &str, after: &str, undo: &str, action: Action) -> Change {
    requested(Change::new(path, after, undo, action))
}

fn requested(change: Change) -> Change {
    let why = "it was requested explicitly".to_owned();
    Change { why, ..change }
}
