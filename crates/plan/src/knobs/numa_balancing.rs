//! Sets automatic NUMA balancing: pages are unmapped periodically to learn from the faults which task uses them
//! (`kernel/sched/fair.c`, `task_numa_work`), and are moved.

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;
use crate::parameters::ParameterCost;

const PATH: &str = "/proc/sys/kernel/numa_balancing";

pub(super) const KNOB: Knob = Knob {
    name: "numa_balancing",
    files: &[PATH],
    usage: KnobUse::From(Profile::Strict),
    price: ParameterCost::Speed,
    aliases: &["numa_balancing_sysctl"],
    what: "moves memory to the node that uses it",
    isolation: "0: no page faults to see who uses a page",
    needs: "a kernel with CONFIG_NUMA_BALANCING",
    usual: "0",
    stops: &["tlb_shootdown"],
    side_effects: "programs that wander between nodes keep remote memory",
    verify: "the file, and numa_pte_updates in /proc/vmstat",
    peers: &["TuneD"],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "unmapping pages to see who uses them costs page faults and TLB shootdowns";
