//! Creates the partition itself: a cpuset that owns the CPUs, outside every scheduling domain.
//!
//! v1 (`kernel/cgroup/cpuset-v1.c`): the root stops balancing, one child balances the housekeeping CPUs, another holds the
//! isolated ones and does not balance. v2: one child becomes an `isolated` partition (6.1 and later), or a `root` one if the
//! kernel knows only that. The v2 write succeeds even if the partition is invalid, so it is always read back.

mod in_place;

use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::{Action, Change, Finding, FindingId, Plan, PlanContext, Profile, ReadbackComparison, UndoMethod, by_hand};
use machine::{Hierarchy, Partition, Version, is_within};

pub(super) const KNOB: Knob = Knob {
    name: "cpuset_partition",
    what: "a cpuset cgroup that owns the isolated CPUs and is in no scheduling domain, so that the scheduler neither \
         balances load nor places tasks there",
    aliases: &["cpuset.cpus.partition"],
    files: &["/sys/fs/cgroup/NAME/cpuset.cpus.partition"],
    related: &["/sys/fs/cgroup/NAME/cpuset.cpus", "/sys/fs/cgroup/NAME/cpuset.mems"],
    isolation: "isolated: no other task, no load balancing; always read back, because writing an invalid partition \
         succeeds",
    since: "v1: 2.6.24; v2 partition `root`: 5.0, `isolated`: 6.1",
    usage: KnobUse::From(Profile::Minimal),
    takes: KnobValueKind::Words(&["isolated", "root"]),
    usual: "isolated",
    needed: "without the partition the scheduler continues to use these CPUs, and nothing would be isolated",
    stops: &["task", "sched_softirq"],
    side_effects: "threads inside the partition are not balanced between its CPUs; with =root they are, for programs \
                   with many threads that do not pin them",
    verify: "cpuset.cpus.partition reads `isolated` (v2); sched_load_balance of root and partition read 0 (v1); \
             the CPU has no directory in /sys/kernel/debug/sched/domains",
    peers: &["cset", "partrt", "TuneD", "systemd CPUSetPartition="],
    plan,
    ..Knob::PLAIN
};

fn plan(_: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let Some(hierarchy) = scene.hierarchy() else {
        plan.findings.push(
            Finding::error(
                FindingId::NO_CPUSET,
                "cgroups",
                "no cpuset controller is mounted here, so tasks cannot be blocked from the CPUs; interrupts and kernel \
                 work still can",
            )
            .fix("mount cgroup v2 with the cpuset controller (mount -t cgroup2 none /sys/fs/cgroup), outside a container"),
        );
        return Presence::Absent;
    };
    if hierarchy.read_only {
        plan.findings.push(
            Finding::error(
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

fn plan_v1(scene: &PlanContext, hierarchy: &Hierarchy, plan: &mut Plan) {
    let root = hierarchy.set("/");
    let all_mems = root.and_then(|set| set.mems.as_deref()).unwrap_or("0");
    if let Some(keep) = scene.intent.housekeeping_path(hierarchy)
        && !widen_housekeeping(scene, hierarchy, &keep, plan)
    {
        let keep = NewSet::new(hierarchy, keep);
        let cpus = scene.housekeeping.to_string();
        let why = "v1 refuses tasks in a set without memory nodes (ENOSPC); housekeeping keeps all of them";
        let share = "housekeeping CPUs still share the load";
        plan.changes.extend([
            keep.make(HOUSEKEEPING_SET),
            keep.write("cpus", &cpus, ReadbackComparison::List, HOUSEKEEPING),
            keep.write("mems", all_mems, ReadbackComparison::List, why),
            keep.write("sched_load_balance", "1", ReadbackComparison::Text, share),
        ]);
    }
    let give = NewSet::new(hierarchy, scene.intent.cgroup_path(hierarchy));
    let cpus = scene.isolated().to_string();
    let mems = scene.local_nodes().unwrap_or_else(|| all_mems.to_owned());
    let (balance, why) = match scene.value_of(&KNOB) {
        "root" => ("1", "threads inside the partition share the load"),
        _ => ("0", "the scheduler creates no domain for the partition"),
    };
    plan.changes.extend([
        give.make(GIVES),
        give.write("cpus", &cpus, ReadbackComparison::List, ISOLATED),
        give.write("mems", &mems, ReadbackComparison::List, NEAR),
        give.write("sched_load_balance", balance, ReadbackComparison::Text, why),
    ]);
    if can_be_exclusive(scene, hierarchy, &give.path) {
        let why = "blocks later cpusets from these CPUs too";
        plan.changes
            .push(give.write("cpu_exclusive", "1", ReadbackComparison::Text, why));
    }
    let before = root
        .and_then(|set| set.sched_load_balance)
        .map(|on| if on { "1" } else { "0" }.to_owned());
    let why = "while the root balances, its single domain covers the isolated CPUs whatever the child cpusets say";
    let path = hierarchy.file("/", "sched_load_balance");
    let stop = by_hand::write(&path, before, "0", ReadbackComparison::Text, UndoMethod::Restore);
    plan.changes.push(of_knob(stop, why));
}

/// Whether the kernel accepts a v1 set with the isolated CPUs as exclusive: its parent is, and no sibling has one of them.
fn can_be_exclusive(scene: &PlanContext, hierarchy: &Hierarchy, give: &str) -> bool {
    // The new set excludes others, not itself or its children.
    let own = give.strip_prefix(&hierarchy.mount).unwrap_or_default();
    let is_own = |set: &Partition| is_within(&set.name, own);
    let overlap = |set: &Partition| {
        set.name != "/"
            && !is_own(set)
            && set
                .cpus
                .as_ref()
                .is_some_and(|cpus| cpus.is_subset(scene.isolated()) && !cpus.is_empty())
    };
    let exclusive_root = hierarchy.set("/").and_then(|set| set.cpu_exclusive);
    exclusive_root == Some(true) && !hierarchy.sets.iter().any(overlap)
}

const HOUSEKEEPING_SET: &str = "the cpuset for everything that is not isolated";
const HOUSEKEEPING: &str = "the housekeeping CPUs";
const GIVES: &str = "the partition";
const ISOLATED: &str = "the isolated CPUs";
const NEAR: &str = "memory near the isolated CPUs";

/// If another partition has already created the set for everything else, its list is updated; `false` if none has.
fn widen_housekeeping(scene: &PlanContext, hierarchy: &Hierarchy, keep: &str, plan: &mut Plan) -> bool {
    let housekeeping = keep.strip_prefix(&hierarchy.mount).unwrap_or_default();
    let is_there = scene.is_ours(hierarchy, housekeeping);
    if is_there {
        let before = hierarchy.set(housekeeping).and_then(|set| set.cpus.as_ref());
        let before = before.map(ToString::to_string);
        let (path, cpus) = (hierarchy.file(housekeeping, "cpus"), scene.housekeeping.to_string());
        let widen = by_hand::write(&path, before, &cpus, ReadbackComparison::List, UndoMethod::Restore);
        plan.changes.push(of_knob(widen, HOUSEKEEPING));
    }
    is_there
}

/// On 5.10 a v2 partition widens the masks of per-CPU kworkers, which then run on the wrong CPU (the kernel warns in
/// `process_one_work`) and cannot be narrowed again. Later kernels mark bound workers as per-CPU threads, which
/// `update_tasks_cpumask` leaves alone. No file shows whether a distribution has that change, so the release decides.
const V2_DOES_HARM_BEFORE: (u32, u32) = (5, 12);

fn plan_v2(scene: &PlanContext, hierarchy: &Hierarchy, plan: &mut Plan) {
    if let Some(harm) = harm_of_v2(scene, hierarchy) {
        plan.findings.push(harm);
        return;
    }
    let control = format!("{}/cgroup.subtree_control", hierarchy.mount);
    let why = "children of the root get cpuset files only then";
    plan.changes.push(in_place::enable_controller(&control, why));
    if let Some(keep) = scene.intent.housekeeping_path(hierarchy)
        && !widen_housekeeping(scene, hierarchy, &keep, plan)
    {
        let keep = NewSet::new(hierarchy, keep);
        let cpus = scene.housekeeping.to_string();
        plan.changes.extend([
            keep.make(HOUSEKEEPING_SET),
            keep.write("cpus", &cpus, ReadbackComparison::List, HOUSEKEEPING),
        ]);
    }
    if let Some(cgroup) = &scene.intent.in_place {
        return in_place::plan(scene, hierarchy, cgroup, plan);
    }
    let give = NewSet::new(hierarchy, scene.intent.cgroup_path(hierarchy));
    let cpus = scene.isolated().to_string();
    plan.changes.extend([
        give.make(GIVES),
        give.write("cpus", &cpus, ReadbackComparison::List, ISOLATED),
    ]);
    if let Some(mems) = scene.local_nodes() {
        plan.changes
            .push(give.write("mems", &mems, ReadbackComparison::List, NEAR));
    }
    plan.changes
        .extend(super::task_placement::processes_into_housekeeping(scene, hierarchy));
    plan.changes
        .push(make_partition(give.file("cpus.partition"), partition_words(scene)));
}

/// The kinds of partition to try, in order.
fn partition_words(scene: &PlanContext) -> &'static [&'static str] {
    match scene.value_of(&KNOB) {
        "root" => &["root"],
        _ => &["isolated", "root"],
    }
}

fn harm_of_v2(scene: &PlanContext, hierarchy: &Hierarchy) -> Option<Finding> {
    let kernel = &scene.machine.kernel;
    kernel.version.filter(|&version| version < V2_DOES_HARM_BEFORE)?;
    let release = kernel.release.as_deref().unwrap_or("this release");
    let message = format!(
        "kernel {release} widens the masks of per-CPU kernel workers when a cgroup v2 partition is created, and they \
         cannot be restored"
    );
    let fix = "use kernel 5.12 or later (6.1 for `isolated`), or mount the cpuset controller as cgroup v1";
    Some(Finding::error(FindingId::V2_DOES_HARM, &hierarchy.mount, message).fix(fix))
}

/// Turns a v2 set into a partition: of the first of these kinds that the kernel knows.
fn make_partition(path: String, words: &[&str]) -> Change {
    let change = Change {
        before: Some("member".to_owned()),
        after: words[0].to_owned(),
        undo: "write `member`, then restore the former masks of tasks where the kernel did not".to_owned(),
        action: Action::MakePartition {
            path: path.clone(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        },
        ..by_hand::make_partition(&path)
    };
    of_knob(
        change,
        "removes the CPUs from every other cgroup and from the scheduling domains",
    )
}

/// A cpuset that the plan makes.
struct NewSet<'a> {
    path: String,
    /// The prefix of the names of its files.
    prefix: &'a str,
}

impl NewSet<'_> {
    fn new(hierarchy: &Hierarchy, path: String) -> NewSet<'_> {
        let prefix = &hierarchy.prefix;
        NewSet { path, prefix }
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{}{name}", self.path, self.prefix)
    }

    fn make(&self, why: &str) -> Change {
        of_knob(by_hand::make_set(&self.path), why)
    }

    fn write(&self, name: &str, value: &str, compare: ReadbackComparison, why: &str) -> Change {
        let change = by_hand::write(&self.file(name), None, value, compare, UndoMethod::WithSet);
        of_knob(change, why)
    }
}

/// The same change as part of this knob.
fn of_knob(change: Change, why: &str) -> Change {
    change.of_knob(KNOB.name, why)
}
