//! Sets whether the writeback workqueue has workers for each memory node (`kernel/workqueue.c`, `wq_numa_store`). If a
//! node has no CPU in the queue's mask, its work goes to the whole mask anyway.

use super::value_file::set_text;
use super::{Knob, KnobUse, KnobValueKind};

const PATH: &str = "/sys/devices/virtual/workqueue/writeback/numa";

pub(super) const KNOB: Knob = Knob {
    name: "writeback_numa",
    files: &[PATH],
    what: "whether the work of writeback stays on the memory node that it was queued on",
    isolation: "0 lets it run on any CPU of its mask; wq_sysfs_cpumask is what keeps it off isolated CPUs",
    since: "3.10 to 6.5",
    needs: "a kernel before 6.6; later ones have affinity scopes instead",
    usage: KnobUse::ByName,
    takes: KnobValueKind::Words(&["0", "1"]),
    usual: "0",
    stops: &["kworker_unbound"],
    side_effects: "writeback takes memory of other nodes",
    verify: "the file",
    peers: &["partrt"],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "writeback of a node whose CPUs are isolated finds workers elsewhere";
