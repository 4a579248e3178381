//! Moves every movable task and unbound kernel thread off the isolated CPUs, `kthreadd` too.
//!
//! v1: tasks of the root set move into the housekeeping set, and the kernel gives them its mask. v2: the partition
//! itself takes the CPUs from all other cgroups. The affinity of kernel threads that the kernel leaves there (which
//! ones depends on the version) is narrowed.

use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::{Action, Change, Finding, FindingId, Plan, PlanContext, Profile, TaskSelector};
use machine::{Hierarchy, MaskCount, Task, Version};

pub(super) const KNOB: Knob = Knob {
    name: "task_placement",
    what: "keeps tasks and unbound kernel threads on the housekeeping CPUs, including kthreadd, because later kernel \
         threads start where it may run",
    since: "any kernel with cpusets",
    usage: KnobUse::From(Profile::Minimal),
    takes: KnobValueKind::Words(&["all", "user"]),
    usual: "all",
    needed: "tasks and kernel threads that already run there would stay, and nothing would be isolated",
    stops: &["task", "kernel_thread", "migration"],
    side_effects: "a task that was pinned only to isolated CPUs runs on housekeeping CPUs until undo; =user leaves \
         kernel threads where the partition leaves them",
    verify: "Cpus_allowed_list in /proc/PID/task/TID/status of every thread",
    peers: &["cset", "partrt", "tuna", "TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(_: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let tasks = scene.machine.known_tasks();
    if let Some(tasks) = tasks {
        let bound = |task: &&Task| task.is_bound_to(scene.isolated());
        let mut names: Vec<&str> = tasks.iter().filter(bound).map(|task| task.comm.as_str()).collect();
        if !names.is_empty() {
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            let message = format!(
                "{count} kernel threads are bound to these CPUs and cannot be moved: {}",
                shorten(&names)
            );
            plan.findings.push(
                Finding::info(FindingId::PER_CPU_THREADS, scene.isolated().to_string(), message)
                    .fix("none needed: they run only when this CPU has work for them"),
            );
        }
    }
    // Without a cpuset the affinity of unpinned tasks would have to be set, and could not be undone.
    let Some(hierarchy) = scene.hierarchy().filter(|hierarchy| !hierarchy.read_only) else {
        return Presence::Absent;
    };
    match (hierarchy.version, movers(scene)) {
        (Version::V1, movers) => plan.changes.extend(move_into_housekeeping(scene, hierarchy, movers)),
        (Version::V2, TaskSelector::All) => {
            let partition = scene.intent.cgroup_path(hierarchy);
            plan.changes.push(change(
                scene,
                "affinity of kernel threads that the partition changed",
                Action::NarrowTasks {
                    isolated: scene.isolated().clone(),
                    housekeeping: scene.housekeeping.clone(),
                    partition: partition.strip_prefix(&hierarchy.mount).unwrap_or_default().to_owned(),
                },
                "every thread gets its former mask back",
            ));
        }
        (Version::V2, _) => {}
    }
    Presence::Here
}

/// Which tasks the intent moves.
fn movers(scene: &PlanContext) -> TaskSelector {
    match scene.value_of(&KNOB) {
        "user" => TaskSelector::UserSpace,
        _ => TaskSelector::All,
    }
}

/// v2, if a set for everything else was requested: the processes of the root move into it before the partition takes
/// their CPUs. Afterwards their previous CPUs would be unknown.
pub(super) fn processes_into_housekeeping(scene: &PlanContext, hierarchy: &Hierarchy) -> Option<Change> {
    let mut change = move_into_housekeeping(scene, hierarchy, TaskSelector::UserSpace)?;
    change.id.push_str("/processes");
    Some(change)
}

fn move_into_housekeeping(scene: &PlanContext, hierarchy: &Hierarchy, movers: TaskSelector) -> Option<Change> {
    let to = scene.intent.housekeeping_path(hierarchy)?;
    let from = hierarchy.mount.clone();
    let target = format!("tasks of {from} -> {to}");
    let action = Action::MoveTasks {
        from,
        to,
        cpus: scene.housekeeping.clone(),
        who: movers,
    };
    let undo = "every task returns to its former cpuset and mask";
    Some(change(scene, &target, action, undo))
}

fn change(scene: &PlanContext, target: &str, action: Action, undo: &str) -> Change {
    let kernel_too = movers(scene) == TaskSelector::All;
    let is_moved = |group: &&MaskCount| {
        let is_concerned = group.is_movable && (kernel_too || !group.is_kernel);
        is_concerned && group.allowed.intersects(scene.isolated())
    };
    let movable = scene.machine.task_masks().map(|masks| {
        let moved = masks.iter().filter(is_moved);
        moved.map(|group| group.count).sum::<usize>()
    });
    let after = format!("every movable task may run only on {}", scene.housekeeping);
    Change {
        id: "task_placement".to_owned(),
        before: movable.map(|count| format!("{count} movable tasks may run on {}", scene.isolated())),
        why: "a task that may run there will do so sooner or later".to_owned(),
        ..Change::new(target, &after, undo, action)
    }
}

fn shorten(names: &[&str]) -> String {
    const MAX_LISTED: usize = 12;
    match names.len() {
        0..=MAX_LISTED => names.join(", "),
        more => format!("{} and {} more", names[..MAX_LISTED].join(", "), more - MAX_LISTED),
    }
}
