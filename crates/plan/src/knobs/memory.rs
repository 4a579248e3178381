//! Sets the work that the kernel does on memory by itself: compaction, merging, moving between nodes, statistics.

use super::knob_file::plan_files;
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::Profile;
use crate::parameters::ParameterCost;

/// Sets automatic NUMA balancing: pages are unmapped periodically to learn from the faults which task uses them
/// (`kernel/sched/fair.c`, `task_numa_work`), and are moved.
pub(super) const NUMA_BALANCING: Knob = Knob {
    name: "numa_balancing",
    files: &["/proc/sys/kernel/numa_balancing"],
    usage: KnobUse::From(Profile::Strict),
    price: ParameterCost::Speed,
    aliases: &["numa_balancing_sysctl"],
    what: "moves memory to the node that uses it",
    why: "the kernel unmaps pages to find out which node uses them, which costs page faults and TLB shootdowns",
    isolation: "0: no page faults to find out which node uses a page",
    needs: "a kernel with CONFIG_NUMA_BALANCING",
    usual: "0",
    stops: &["tlb_shootdown"],
    side_effects: "programs that move between nodes keep remote memory",
    verify: "the file, and numa_pte_updates in /proc/vmstat",
    peers: &["TuneD"],
    ..Knob::PLAIN
};

/// Sets the merging of equal pages (`mm/ksm.c`): a thread compares pages, and each write to a merged page causes a fault.
pub(super) const KSM_RUN: Knob = Knob {
    name: "ksm_run",
    files: &["/sys/kernel/mm/ksm/run"],
    what: "merging of equal pages",
    why: "merging write-protects pages, and every write to a merged page faults",
    isolation: "0: no ksmd, and no further pages are merged",
    needs: "a kernel with CONFIG_KSM",
    usage: KnobUse::From(Profile::Strict),
    usual: "0",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "virtual machines and containers use more memory; merged pages stay merged",
    verify: "the file, and full_scans beside it does not change",
    peers: &["TuneD"],
    // 2 means stopped and all merged pages split, which is even quieter.
    plan: |knob, scene, plan| match scene.settings.get(knob.file()) {
        Some("2") => Presence::Here,
        _ => plan_files(knob, scene, plan),
    },
    ..Knob::PLAIN
};

/// Sets the folding of memory statistics (`mm/vmstat.c`): in every interval a worker runs on each CPU that has
/// something to fold. Kernels leave isolated CPUs alone since 6.5: at first those of the boot line and of nohz_full,
/// since 6.7 also those of partitions (`cpu_is_isolated`).
pub(super) const STAT_INTERVAL: Knob = Knob {
    name: "stat_interval",
    files: &["/proc/sys/vm/stat_interval"],
    what: "seconds between folds of memory statistics (vmstat_update)",
    why: "every fold runs a worker on each CPU that has statistics to fold",
    isolation: "60 or more makes them less frequent on kernels before 6.5; later ones leave isolated CPUs alone",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Number(1, 86_400),
    usual: "120",
    stops: &["kworker"],
    side_effects: "/proc/vmstat and /proc/meminfo lag behind",
    verify: "the file, and vmstat_update in the work of the CPU's kworkers",
    peers: &["TuneD"],
    // A longer interval was set deliberately.
    enough: |now| now.parse::<i64>().is_ok_and(|now| now >= 120),
    ..Knob::PLAIN
};

/// Sets proactive compaction (`mm/compaction.c`, `kcompactd`): pages of any process are moved, and every CPU that runs
/// one of its threads must flush the old translation.
pub(super) const COMPACTION_PROACTIVENESS: Knob = Knob {
    name: "compaction_proactiveness",
    files: &["/proc/sys/vm/compaction_proactiveness"],
    usage: KnobUse::From(Profile::Balanced),
    what: "how eagerly the kernel compacts memory before a program needs it",
    why: "every CPU that may have a translation of a page moved by kcompactd gets a TLB shootdown",
    isolation: "0: the kernel moves pages only on demand",
    since: "5.9",
    needs: "a kernel with CONFIG_COMPACTION",
    usual: "0",
    stops: &["tlb_shootdown"],
    side_effects: "huge pages are found less often; a program that needs one then compacts memory itself",
    verify: "the file, and compact_daemon_wake in /proc/vmstat",
    peers: &["TuneD"],
    ..Knob::PLAIN
};

/// Sets whether compaction may move locked memory: `mlockall` guarantees that pages stay in memory, not that they stay
/// in place.
pub(super) const COMPACT_UNEVICTABLE_ALLOWED: Knob = Knob {
    name: "compact_unevictable_allowed",
    files: &["/proc/sys/vm/compact_unevictable_allowed"],
    usage: KnobUse::From(Profile::Balanced),
    what: "whether the kernel may also move locked memory",
    why: "access to a moved page faults, even if its program has locked it",
    isolation: "0: locked pages of a real-time program are not moved; PREEMPT_RT sets it",
    needs: "a kernel with CONFIG_COMPACTION",
    usual: "0",
    stops: &["tlb_shootdown"],
    side_effects: "memory around locked pages stays fragmented",
    ..Knob::PLAIN
};
