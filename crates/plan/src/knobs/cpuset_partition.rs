//! Creates the partition itself: a cpuset that owns the CPUs, outside every scheduling domain.
//!
//! v1 (`kernel/cgroup/cpuset-v1.c`): the root stops balancing, one child balances the housekeeping CPUs, another holds the
//! isolated ones and does not balance. v2: one child becomes an `isolated` partition (6.1 and later), or a `root` one if the
//! kernel knows only that. The v2 write succeeds even if the partition is invalid, so it is always read back.

use super::{Knob, Presence, Taken, Takes};
use crate::{
    Action, Change, ChangeKind, Compare, Finding, FindingId, Level, OnRefusal, Plan, Profile, Scene, Undo,
    partition_path,
};
use machine::{Hierarchy, Partition, Version};

pub(super) const KNOB: Knob = Knob {
    name: "cpuset_partition",
    what: "a cpuset cgroup that owns the isolated CPUs and is outside every scheduling domain, so that the \
           scheduler neither balances nor places anything there",
    aliases: &["cpuset.cpus.partition"],
    files: &["/sys/fs/cgroup/NAME/cpuset.cpus.partition"],
    related: &[
        "/sys/fs/cgroup/NAME/cpuset.cpus",
        "/sys/fs/cgroup/NAME/cpuset.mems",
    ],
    isolation: "isolated: no other task, no load balancing; always read back, because an invalid partition is no error",
    since: "v1: 2.6.24; v2 partition `root`: 5.0, `isolated`: 6.1",
    taken: Taken::From(Profile::Minimal),
    takes: Takes::Words(&["isolated", "root"]),
    usual: "isolated",
    needed: "without the partition the scheduler goes on using these CPUs, and nothing would be isolated",
    stops: &["task", "sched_softirq"],
    side_effects: "threads inside the partition are not balanced between its CPUs; with =root they are, for programs \
                   with many threads that do not pin them",
    verify: "cpuset.cpus.partition reads `isolated` (v2); sched_load_balance of root and partition read 0 (v1); \
             the CPU has no directory in /sys/kernel/debug/sched/domains",
    peers: &["cset", "partrt", "TuneD", "systemd CPUSetPartition="],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &Scene, plan: &mut Plan) -> Presence {
    let Some(hierarchy) = scene.hierarchy() else {
        plan.findings.push(
            Finding::new(
                Level::Error,
                FindingId::NO_CPUSET,
                "cgroups",
                "no cpuset controller is mounted here, so tasks cannot be kept away; interrupts and kernel work still can",
            )
            .fix("mount cgroup v2 with the cpuset controller (mount -t cgroup2 none /sys/fs/cgroup), outside a container"),
        );
        return Presence::Absent;
    };
    if hierarchy.read_only {
        plan.findings.push(
            Finding::new(
                Level::Error,
                FindingId::CPUSET_READ_ONLY,
                &hierarchy.mount,
                "the cgroup file system is mounted read-only, so no partition can be made",
            )
            .fix("remount it read-write, or run outside the container"),
        );
        return Presence::Here;
    }
    match hierarchy.version {
        Version::V1 => plan_v1(scene, hierarchy, plan),
        Version::V2 => plan_v2(scene, hierarchy, plan),
    }
    Presence::Here
}

fn plan_v1(scene: &Scene, hierarchy: &Hierarchy, plan: &mut Plan) {
    let root = hierarchy.sets.iter().find(|set| set.name == "/");
    let all_mems = root
        .and_then(|set| set.mems.clone())
        .unwrap_or_else(|| "0".to_owned());
    let give = partition_path(hierarchy, scene.intent.name.as_str());
    let file = |set: &str, name: &str| format!("{set}/{}{name}", hierarchy.prefix);
    let inside = |set: &str, name: &str, value: String, compare, why: &str| {
        write(file(set, name), None, value, compare, Undo::WithSet, why)
    };

    if let Some(keep) = scene.intent.housekeeping_path(hierarchy)
        && !widen_housekeeping(scene, hierarchy, &keep, plan)
    {
        plan.changes.push(make_set(&keep, KEEPS));
        let cpus = scene.housekeeping.to_string();
        plan.changes
            .push(inside(&keep, "cpus", cpus, Compare::List, HOUSEKEEPING));
        let why = "v1 refuses tasks in a set without memory nodes (ENOSPC); housekeeping keeps all of them";
        plan.changes
            .push(inside(&keep, "mems", all_mems.clone(), Compare::List, why));
        let why = "housekeeping CPUs still share the load";
        plan.changes.push(inside(
            &keep,
            "sched_load_balance",
            "1".to_owned(),
            Compare::Text,
            why,
        ));
    }

    plan.changes.push(make_set(&give, "the partition"));
    let why = "the isolated CPUs";
    plan.changes.push(inside(
        &give,
        "cpus",
        scene.isolated().to_string(),
        Compare::List,
        why,
    ));
    let why = "memory near the isolated CPUs";
    let mems = scene.local_nodes().unwrap_or(all_mems);
    plan.changes.push(inside(&give, "mems", mems, Compare::List, why));
    let (balance, why) = match scene.value_of(&KNOB) {
        "root" => ("1", "threads inside the partition share the load"),
        _ => ("0", "the scheduler builds no domain over the partition"),
    };
    plan.changes.push(inside(
        &give,
        "sched_load_balance",
        balance.to_owned(),
        Compare::Text,
        why,
    ));
    // The new set excludes others, not itself or its children.
    let own = give.strip_prefix(&hierarchy.mount).unwrap_or_default();
    let is_own = |set: &Partition| {
        let rest = set.name.strip_prefix(own);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let overlap = |set: &Partition| {
        set.name != "/"
            && !is_own(set)
            && set
                .cpus
                .as_ref()
                .is_some_and(|cpus| cpus.is_subset(scene.isolated()) && !cpus.is_empty())
    };
    let exclusive_root = root.and_then(|set| set.cpu_exclusive).unwrap_or(false);
    if exclusive_root && !hierarchy.sets.iter().any(overlap) {
        let why = "no later cpuset may take these CPUs too";
        plan.changes
            .push(inside(&give, "cpu_exclusive", "1".to_owned(), Compare::Text, why));
    }
    let before = root
        .and_then(|set| set.sched_load_balance)
        .map(|on| if on { "1" } else { "0" }.to_owned());
    let why = "while the root balances, its single domain covers the isolated CPUs whatever its children say";
    let path = file(&hierarchy.mount, "sched_load_balance");
    plan.changes.push(write(
        path,
        before,
        "0".to_owned(),
        Compare::Text,
        Undo::Restore,
        why,
    ));
}

const KEEPS: &str = "the cpuset that takes everything that is not isolated";
const HOUSEKEEPING: &str = "the housekeeping CPUs";

/// If another partition has already created the set for everything else, its list is updated; `false` if none has.
fn widen_housekeeping(scene: &Scene, hierarchy: &Hierarchy, keep: &str, plan: &mut Plan) -> bool {
    let kept = keep.strip_prefix(&hierarchy.mount).unwrap_or_default();
    let is_there = scene.is_ours(hierarchy, kept);
    if is_there {
        let before = hierarchy.set(kept).and_then(|set| set.cpus.as_ref());
        plan.changes.push(write(
            hierarchy.file(kept, "cpus"),
            before.map(ToString::to_string),
            scene.housekeeping.to_string(),
            Compare::List,
            Undo::Restore,
            HOUSEKEEPING,
        ));
    }
    is_there
}

/// On 5.10 a v2 partition widens the masks of per-CPU kworkers, which then run on the wrong CPU (the kernel warns in
/// `process_one_work`) and cannot be narrowed again. Later kernels mark bound workers as per-CPU threads, which
/// `update_tasks_cpumask` leaves alone. No file shows whether a distribution has that change, so the release decides.
const V2_DOES_HARM_BEFORE: (u32, u32) = (5, 12);

fn plan_v2(scene: &Scene, hierarchy: &Hierarchy, plan: &mut Plan) {
    let kernel = &scene.machine.kernel;
    if kernel
        .version
        .is_some_and(|version| version < V2_DOES_HARM_BEFORE)
    {
        let release = kernel.release.as_deref().unwrap_or("this release");
        let message = format!(
            "kernel {release} widens the masks of per-CPU kernel workers when a cgroup v2 partition is made, and nothing can give them back"
        );
        plan.findings.push(
            Finding::new(Level::Error, FindingId::V2_DOES_HARM, &hierarchy.mount, message).fix(
                "use kernel 5.12 or later (6.1 for `isolated`), or mount the cpuset controller as cgroup v1",
            ),
        );
        return;
    }
    let give = partition_path(hierarchy, scene.intent.name.as_str());
    let file = |name: &str| format!("{give}/cpuset.{name}");
    let why = "children of the root get cpuset files only then";
    let subtree = format!("{}/cgroup.subtree_control", hierarchy.mount);
    plan.changes.push(write(
        subtree,
        None,
        "+cpuset".to_owned(),
        Compare::Word,
        Undo::Restore,
        why,
    ));
    if let Some(keep) = scene.intent.housekeeping_path(hierarchy)
        && !widen_housekeeping(scene, hierarchy, &keep, plan)
    {
        plan.changes.push(make_set(&keep, KEEPS));
        let cpus = scene.housekeeping.to_string();
        let path = format!("{keep}/cpuset.cpus");
        plan.changes.push(write(
            path,
            None,
            cpus,
            Compare::List,
            Undo::WithSet,
            HOUSEKEEPING,
        ));
    }
    plan.changes.push(make_set(&give, "the partition"));
    let why = "the isolated CPUs";
    let value = scene.isolated().to_string();
    plan.changes.push(write(
        file("cpus"),
        None,
        value,
        Compare::List,
        Undo::WithSet,
        why,
    ));
    if let Some(mems) = scene.local_nodes() {
        let why = "memory near the isolated CPUs";
        plan.changes
            .push(write(file("mems"), None, mems, Compare::List, Undo::WithSet, why));
    }
    plan.changes
        .extend(super::task_placement::processes_into_housekeeping(
            scene, hierarchy,
        ));
    let words: &[&str] = match scene.value_of(&KNOB) {
        "root" => &["root"],
        _ => &["isolated", "root"],
    };
    plan.changes.push(Change {
        id: change_id(&file("cpus.partition")),
        target: file("cpus.partition"),
        kind: ChangeKind::Runtime,
        before: Some("member".to_owned()),
        after: words[0].to_owned(),
        why: "takes the CPUs from every other cgroup and from the scheduling domains".to_owned(),
        undo: "write `member`, then give tasks their former masks back where the kernel did not".to_owned(),
        action: Action::MakePartition {
            path: file("cpus.partition"),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        },
    });
}

fn make_set(path: &str, why: &str) -> Change {
    Change {
        id: change_id(path),
        target: path.to_owned(),
        kind: ChangeKind::Runtime,
        before: None,
        after: "a new cgroup".to_owned(),
        why: why.to_owned(),
        undo: "send its tasks home, then remove it".to_owned(),
        action: Action::MakeSet {
            path: path.to_owned(),
        },
    }
}

fn write(
    path: String,
    before: Option<String>,
    value: String,
    compare: Compare,
    undo: Undo,
    why: &str,
) -> Change {
    Change {
        id: change_id(&path),
        target: path.clone(),
        kind: ChangeKind::Runtime,
        before,
        after: value.clone(),
        why: why.to_owned(),
        undo: match undo {
            Undo::Restore => "write the former value".to_owned(),
            Undo::WithSet => "goes with the cgroup".to_owned(),
        },
        action: Action::Write {
            path,
            value,
            compare,
            on_refusal: OnRefusal::Fatal,
            undo,
        },
    }
}

fn change_id(path: &str) -> String {
    format!("cpuset_partition{path}")
}
