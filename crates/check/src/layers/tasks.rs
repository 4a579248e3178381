//! Checks every thread that may run on the CPUs: which belong there, which are movable but were not moved, and which
//! are not movable.

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, IsolationMeans};
use machine::Task;
use plan::{Action, Change, FindingId, Level};
use std::collections::BTreeMap;

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::Tasks,
    what: "every thread that may run on the CPUs, and whether it can be moved",
    judge,
};

/// With more names than this the list is useless: nothing keeps tasks off the CPUs.
const MOST_NAMES: usize = 24;

fn judge(evidence: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let tasks = evidence.machine.tasks_that_may_run_on(&case.cpus);
    // A task that has ended keeps its mask, but does not run.
    let (inside, outside): (Vec<&Task>, Vec<&Task>) = tasks
        .into_iter()
        .flatten()
        .filter(|task| !task.is_over())
        .partition(|task| case.is_inside(evidence.machine, task));
    if !inside.is_empty() {
        found.push(inside_tasks(case, &inside));
    }
    // The mask of such a thread follows its interrupt's, and is reported there.
    let outside = outside.into_iter().filter(|task| !task.is_irq_thread());
    let (movable, fixed): (Vec<&Task>, Vec<&Task>) = outside.partition(|task| task.is_movable());
    let (bound, placed): (Vec<&Task>, Vec<&Task>) = fixed.into_iter().partition(|task| task.is_bound_to(&case.cpus));
    if !bound.is_empty() {
        found.push(per_cpu(case, &bound));
    }
    if !placed.is_empty() {
        found.push(placed_by_masks(case, &placed));
    }
    let (pinned, free): (Vec<&Task>, Vec<&Task>) = movable.into_iter().partition(|task| is_pinned_here(case, task));
    for (comm, tasks) in by_name(&pinned) {
        let message = format!(
            "{} pinned to CPU {}; pinning is how a program uses CPUs that the boot line isolates",
            count(&tasks),
            case.cpus
        );
        found.push(evidence_of(
            CheckFinding::new(Level::Info, FindingId::TASK_PINNED_HERE, comm, message),
            &tasks,
        ));
    }
    found.extend(foreign_tasks(case, &free));
}

/// Without a partition, programs are assigned to CPUs by pinning: a program pinned only to these is there on purpose.
fn is_pinned_here(case: &CheckCase, task: &Task) -> bool {
    let is_pinnable = matches!(
        case.isolation.means,
        IsolationMeans::BootLine | IsolationMeans::Slices | IsolationMeans::Tuned
    );
    let only_here = task
        .allowed
        .as_ref()
        .is_some_and(|allowed| allowed.is_subset(&case.cpus));
    is_pinnable && only_here && !task.is_kernel()
}

fn inside_tasks(case: &CheckCase, tasks: &[&Task]) -> CheckFinding {
    let partition = case.isolation.intent.name.to_string();
    named(FindingId::TASKS_INSIDE, partition, tasks, "in the partition")
}

/// Information about tasks, with their names.
fn named(id: FindingId, subject: String, tasks: &[&Task], what: &str) -> CheckFinding {
    let names: Vec<&str> = by_name(tasks).into_keys().collect();
    let message = format!("{} {what}: {}", count(tasks), names.join(", "));
    evidence_of(CheckFinding::new(Level::Info, id, subject, message), tasks)
}

fn per_cpu(case: &CheckCase, tasks: &[&Task]) -> CheckFinding {
    let what = match tasks.len() {
        1 => "of the kernel is bound to these CPUs and cannot be moved",
        _ => "of the kernel are bound to these CPUs and cannot be moved",
    };
    named(FindingId::PER_CPU_THREADS, case.cpus.to_string(), tasks, what)
        .fix("none needed: they run only when this CPU has work for them; `quietcore explain NAME` describes each")
}

/// Unmovable kernel threads that are not bound to these CPUs: workers and rescuers of unbound workqueues.
fn placed_by_masks(case: &CheckCase, tasks: &[&Task]) -> CheckFinding {
    let what = "of the kernel may run here and elsewhere, and only an affinity mask restricts them";
    named(FindingId::MASK_PLACED_THREADS, case.cpus.to_string(), tasks, what).fix(
        "/sys/devices/virtual/workqueue/cpumask places kworker/u* (knob workqueue_cpumask); workqueue rescuers \
             run only when memory is short",
    )
}

fn foreign_tasks(case: &CheckCase, tasks: &[&Task]) -> Vec<CheckFinding> {
    let groups = by_name(tasks);
    if groups.len() > MOST_NAMES {
        let message = format!(
            "{} with {} names may run on CPU {}: nothing restricts them",
            count(tasks),
            groups.len(),
            case.cpus
        );
        let found = CheckFinding::new(Level::Error, FindingId::TASK_HERE, case.cpus.to_string(), message);
        return vec![evidence_of(with_repair(case, found, tasks), tasks)];
    }
    let one = |(comm, tasks): (&str, Vec<&Task>)| {
        let what = if tasks.iter().all(|task| task.is_kernel()) {
            " of the kernel"
        } else {
            ""
        };
        let message = format!(
            "{}{what} may run on CPU {}, could be moved and was not",
            count(&tasks),
            case.cpus
        );
        let found = CheckFinding::new(Level::Error, FindingId::TASK_HERE, comm, message);
        evidence_of(with_repair(case, found, &tasks), &tasks)
    };
    groups.into_iter().map(one).collect()
}

/// The change that keeps tasks off the CPUs, if it covers all of these.
fn with_repair(case: &CheckCase, found: CheckFinding, tasks: &[&Task]) -> CheckFinding {
    let reaches = |change: &&Change| match &change.action {
        Action::NarrowTasks { .. } => true,
        Action::MoveTasks { from, .. } => {
            let set = from.rsplit_once('/').map_or("", |_| "/");
            tasks.iter().all(|task| task.cgroup.as_deref() == Some(set))
        }
        _ => false,
    };
    let change = case
        .changes()
        .filter(|change| change.id == "task_placement")
        .find(reaches);
    match (&case.isolation.means, change) {
        (IsolationMeans::Partition, Some(change)) => found.fix(case.remedy()).repaired_by(change.clone()),
        (IsolationMeans::Partition, None) => {
            found.fix("move it to a cpuset without these CPUs, or narrow its mask: taskset -pc CPUS TID")
        }
        _ => found.fix(format!("{}; or narrow its mask: taskset -pc CPUS TID", case.remedy())),
    }
}

fn by_name<'t>(tasks: &[&'t Task]) -> BTreeMap<&'t str, Vec<&'t Task>> {
    let mut groups: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
    for task in tasks {
        groups.entry(&task.comm).or_default().push(task);
    }
    groups
}

fn count(tasks: &[&Task]) -> String {
    match tasks.len() {
        1 => "1 thread".to_owned(),
        more => format!("{more} threads"),
    }
}

fn evidence_of(found: CheckFinding, tasks: &[&Task]) -> CheckFinding {
    tasks.iter().fold(found, |found, task| {
        let cpu = task.cpu.map_or_else(|| "unknown".to_owned(), |cpu| cpu.0.to_string());
        let allowed = task
            .allowed
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), ToString::to_string);
        let moves = match (task.is_movable(), task.is_kernel()) {
            (false, _) if task.allowed.as_ref().is_some_and(|cpus| cpus.len() > 1) => "a mask places it",
            (false, _) => "the kernel binds it",
            (true, true) => "a kernel thread that can be moved",
            (true, false) => "can be moved",
        };
        found.seen(format!(
            "{} {}: allowed on {allowed}, last ran on {cpu}, cgroup {}, {moves}",
            task.key.tid,
            task.comm,
            task.cgroup.as_deref().unwrap_or("unknown")
        ))
    })
}
