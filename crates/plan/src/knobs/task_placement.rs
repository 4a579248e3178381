//! Every movable task and unbound kernel thread leaves the isolated CPUs, `kthreadd` too.
//!
//! v1: tasks of the root set move into the housekeeping set; the kernel gives them its mask. v2: the partition
//! itself takes the CPUs from all other cgroups; what remains are kernel threads that the kernel left there
//! (which ones depends on the version), whose affinity is narrowed.

use super::{Knob, Presence, Taken};
use crate::{
    Action, Change, ChangeKind, Finding, Level, Plan, Profile, Scene, housekeeping_set_path, partition_path,
};
use machine::{Task, Version};

pub(super) const KNOB: Knob = Knob {
    name: "task_placement",
    what: "tasks and unbound kernel threads are kept on the housekeeping CPUs; kthreadd too, because later \
           kernel threads start where it may run",
    since: "any kernel with cpusets",
    taken: Taken::From(Profile::Minimal),
    needed: "tasks and kernel threads that are there already would stay, and nothing would be isolated",
    stops: &["task", "kernel_thread", "migration"],
    side_effects: "a task that was pinned to isolated CPUs only runs on housekeeping CPUs until undo",
    verify: "Cpus_allowed_list in /proc/PID/task/TID/status of every thread",
    peers: &["cset", "partrt", "tuna", "TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &Scene, plan: &mut Plan) -> Presence {
    let tasks = scene.machine.tasks.as_deref();
    let on_isolated = |task: &&Task| {
        task.allowed
            .as_ref()
            .is_some_and(|allowed| allowed.intersects(scene.isolated()))
    };
    if let Some(tasks) = tasks {
        let bound = |task: &&Task| {
            !task.is_movable()
                && task
                    .allowed
                    .as_ref()
                    .is_some_and(|allowed| allowed.is_subset(scene.isolated()))
        };
        let mut names: Vec<&str> = tasks
            .iter()
            .filter(bound)
            .map(|task| task.comm.as_str())
            .collect();
        if !names.is_empty() {
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            let message = format!(
                "{count} kernel threads are bound to these CPUs and cannot be moved: {}",
                shorten(&names)
            );
            plan.findings.push(
                Finding::new(
                    Level::Info,
                    "per-cpu-threads",
                    scene.isolated().to_string(),
                    message,
                )
                .fix("none is needed: they run only when work for this CPU exists"),
            );
        }
    }
    let movable = tasks.map(|tasks| {
        tasks
            .iter()
            .filter(|task| task.is_movable())
            .filter(on_isolated)
            .count()
    });
    let before = movable.map(|count| format!("{count} movable tasks may run on {}", scene.isolated()));
    let after = format!("every movable task may run on {} only", scene.housekeeping);
    let hierarchy = scene.hierarchy().filter(|hierarchy| !hierarchy.read_only);
    let action = match hierarchy {
        Some(hierarchy) if hierarchy.version == Version::V1 => Action::MoveTasks {
            from: hierarchy.mount.clone(),
            to: housekeeping_set_path(hierarchy),
            cpus: scene.housekeeping.clone(),
        },
        Some(hierarchy) => Action::NarrowTasks {
            isolated: scene.isolated().clone(),
            housekeeping: scene.housekeeping.clone(),
            partition: partition_path(hierarchy, scene.intent.name.as_str())
                .strip_prefix(&hierarchy.mount)
                .unwrap_or_default()
                .to_owned(),
        },
        // Without a cpuset an affinity would have to be set on unpinned tasks, and could not be taken back.
        None => return Presence::Absent,
    };
    let (target, undo) = match &action {
        Action::MoveTasks { from, to, .. } => (
            format!("tasks of {from} -> {to}"),
            "every task goes back to where it was, with the mask it had",
        ),
        _ => (
            "affinity of kernel threads that the partition left behind".to_owned(),
            "every thread gets the mask back that it had",
        ),
    };
    plan.changes.push(Change {
        id: "task_placement".to_owned(),
        target,
        kind: ChangeKind::Runtime,
        before,
        after,
        why: "a task that may run there sooner or later does".to_owned(),
        undo: undo.to_owned(),
        action,
    });
    Presence::Here
}

fn shorten(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        0..=SHOWN => names.join(", "),
        more => format!("{} and {} more", names[..SHOWN].join(", "), more - SHOWN),
    }
}
