//! Sets which CPUs the kworkers of unbound workqueues may use (`kernel/workqueue.c`).

use super::knob_file::narrow_known;
use super::{Knob, KnobUse, KnobValueKind};
use crate::{Profile, ReadbackComparison};

/// Sets which CPUs the kworkers of unbound workqueues (`kworker/u*`) may use.
pub(super) const WORKQUEUE_CPUMASK: Knob = Knob {
    name: "workqueue_cpumask",
    what: "the CPUs that unbound workqueues may use; from 6.8 on isolated partitions change it automatically",
    files: &["/sys/devices/virtual/workqueue/cpumask"],
    since: "4.2",
    why: "unbound kernel work stays on housekeeping CPUs",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["kworker_unbound"],
    side_effects: "none",
    verify: "the file, and Cpus_allowed_list of the kworker/u* threads",
    peers: &["partrt", "TuneD"],
    compare: ReadbackComparison::Mask,
    plan: |knob, scene, plan| {
        let now = scene.machine.isolation.workqueue_cpumask.as_ref();
        narrow_known(knob, now, scene, plan)
    },
    ..Knob::PLAIN
};

/// Sets the CPUs of workqueues with a sysfs directory (`WQ_SYSFS`, `kernel/workqueue.c`): writeback, and those of some
/// drivers. Each has its own mask; the kernel uses its intersection with the mask of all unbound workqueues.
pub(super) const WQ_SYSFS_CPUMASK: Knob = Knob {
    name: "wq_sysfs_cpumask",
    aliases: &["writeback_cpumask"],
    files: &["/sys/devices/virtual/workqueue/NAME/cpumask"],
    what: "the CPUs that one unbound workqueue may use: writeback of dirty pages, block cgroups, some drivers",
    why: "the work of this queue stays on housekeeping CPUs",
    isolation: "the housekeeping CPUs; the mask of all unbound workqueues also limits it, until a program widens that",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["kworker_unbound"],
    side_effects: "none",
    verify: "the files, and Cpus_allowed_list of the kworker/u* threads",
    peers: &["TuneD"],
    compare: ReadbackComparison::Mask,
    ..Knob::PLAIN
};

/// Sets whether the writeback workqueue has workers for each memory node (`kernel/workqueue.c`, `wq_numa_store`). If a
/// node has no CPU in the queue's mask, its work goes to the whole mask anyway.
pub(super) const WRITEBACK_NUMA: Knob = Knob {
    name: "writeback_numa",
    files: &["/sys/devices/virtual/workqueue/writeback/numa"],
    what: "whether writeback work stays on the memory node where it was queued",
    why: "writeback of a node whose CPUs are isolated uses workers elsewhere",
    isolation: "0 allows any CPU of its mask; wq_sysfs_cpumask is what blocks it from isolated CPUs",
    since: "3.10 to 6.5",
    needs: "a kernel before 6.6; later ones have affinity scopes instead",
    takes: KnobValueKind::Words(&["0", "1"]),
    usual: "0",
    stops: &["kworker_unbound"],
    side_effects: "writeback uses memory of other nodes",
    peers: &["partrt"],
    ..Knob::PLAIN
};
