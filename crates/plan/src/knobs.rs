//! Lists every kernel mechanism that quietcore can set, one line each in [`KNOBS`].
//!
//! Changes follow the order of the list; undo reverses it. Partitions come before pins, because a partition rewrites
//! masks (`kernel/cgroup/cpuset.c`, `update_tasks_cpumask`). Interrupts come late, because they depend on nothing else.
//! A CPU that goes offline and online again does so before all of that. A CPU that stays offline goes last, and comes
//! back before the partition is removed: when a partition ends, the kernel gives tasks the CPUs that are online then,
//! and never adds one that comes online later (seen on 6.1).

mod by_name;
mod check_interval;
mod cpu_cycle;
mod cpu_offline;
mod cpuset_partition;
mod deadline_servers;
mod declare;
mod default_smp_affinity;
mod files;
mod foreign_cpusets;
mod frequency;
mod huge_pages;
mod idle_states;
mod irq_affinity;
mod irqbalance;
mod knob_file;
mod lockup_detectors;
mod memory;
mod network;
mod owner;
mod owner_ancestor;
mod rcu;
mod rq_affinity;
mod sched_rt_runtime_us;
mod systemd_slice;
mod task_placement;
mod threaded;
mod timer_migration;
mod workqueues;

pub use declare::{Knob, KnobReason, KnobUse, KnobValueKind, Presence};
pub use files::{captured, compared, is_file, of_file, planned};
pub use idle_states::{is_tighter as is_tighter_latency, path as resume_latency_path};
pub use irq_affinity::advice as irq_advice;
pub(crate) use irq_affinity::refuse_unmatched;
pub use irqbalance::advice as irqbalance_advice;

use crate::words::did_you_mean;
use crate::{Intent, KnobRefusal};

/// Every knob, in the order in which it is applied.
pub const KNOBS: &[&Knob] = &[
    &cpu_cycle::KNOB,
    &systemd_slice::KNOB,
    &foreign_cpusets::KNOB,
    &cpuset_partition::KNOB,
    &task_placement::KNOB,
    &threaded::KNOB,
    &owner::KNOB,
    &owner_ancestor::KNOB,
    &workqueues::WORKQUEUE_CPUMASK,
    &workqueues::WQ_SYSFS_CPUMASK,
    &workqueues::WRITEBACK_NUMA,
    &rq_affinity::KNOB,
    &network::RPS_CPUS,
    &network::RPS_DEFAULT_MASK,
    &network::RPS_FLOW_CNT,
    &network::XPS_CPUS,
    &network::NET_CHANNELS,
    &timer_migration::KNOB,
    &lockup_detectors::WATCHDOG_CPUMASK,
    &lockup_detectors::WATCHDOG,
    &lockup_detectors::NMI_WATCHDOG,
    &check_interval::KNOB,
    &memory::STAT_INTERVAL,
    &memory::NUMA_BALANCING,
    &huge_pages::TRANSPARENT_HUGEPAGE,
    &huge_pages::TRANSPARENT_HUGEPAGE_DEFRAG,
    &huge_pages::KHUGEPAGED_DEFRAG,
    &memory::KSM_RUN,
    &memory::COMPACTION_PROACTIVENESS,
    &memory::COMPACT_UNEVICTABLE_ALLOWED,
    &rcu::RCU_EXPEDITED,
    &rcu::RCU_NORMAL,
    &sched_rt_runtime_us::KNOB,
    // Undone after the governor: with `performance` the kernel refuses other preferences.
    &frequency::ENERGY_PERFORMANCE_PREFERENCE,
    &frequency::SCALING_GOVERNOR,
    &frequency::SCALING_MIN_FREQ,
    &frequency::NO_TURBO,
    &idle_states::CPUIDLE_DISABLE,
    &idle_states::PM_QOS_RESUME_LATENCY_US,
    &deadline_servers::FAIR_SERVER,
    &deadline_servers::EXT_SERVER,
    &irqbalance::KNOB,
    &default_smp_affinity::KNOB,
    &irq_affinity::KNOB,
    &cpu_offline::KNOB,
];

/// The knob with this name, alias or file.
#[must_use]
pub fn knob(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().copied().find(|knob| knob.is_called(name))
}

/// The knob that a change belongs to: the change's id starts with the knob's name.
#[must_use]
pub fn of_change(id: &str) -> Option<&'static Knob> {
    let name = id.split('/').next().unwrap_or_default();
    KNOBS.iter().copied().find(|knob| knob.name == name)
}

/// Whether an intent uses a knob, because of its profile or by explicit request.
#[must_use]
pub fn takes(intent: &Intent, knob: &str) -> bool {
    KNOBS
        .iter()
        .any(|row| row.name == knob && row.because(intent).is_some())
}

/// As [`knob`], for a name entered by the user.
///
/// # Errors
/// [`KnobRefusal::Unknown`], with similar names if there are any.
pub(crate) fn find(name: &str) -> Result<&'static Knob, KnobRefusal> {
    // The summary of a plan writes `rq affinity`.
    knob(&name.replace(' ', "_")).ok_or_else(|| KnobRefusal::Unknown {
        name: name.chars().take(40).collect(),
        meant: did_you_mean(name, KNOBS.iter().map(|knob| knob.name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::settings;

    #[test]
    fn knob_names_are_unique_and_declarations_are_complete() {
        let mut names: Vec<&str> = Vec::new();
        for knob in KNOBS {
            names.push(knob.name);
            names.extend(knob.aliases);
            assert!(knob.what.len() > 20 && knob.verify.len() > 3, "{}", knob.name);
            assert!(knob.files.iter().all(|file| file.starts_with('/')), "{}", knob.name);
            let has_words = !matches!(knob.takes, KnobValueKind::Nothing) && !knob.usual.is_empty();
            assert!(!has_words || knob.takes.fits(knob.usual), "{}", knob.name);
            let priced = matches!(
                knob.price,
                crate::parameters::ParameterCost::Safety | crate::parameters::ParameterCost::Security
            );
            assert!(
                !priced || knob.usage == KnobUse::ByName,
                "{} is never part of a profile",
                knob.name
            );
        }
        names.extend(settings().map(|row| row.name));
        names.sort_unstable();
        let twice: Vec<&[&str]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        for row in settings() {
            assert!(knob(row.path).is_none(), "{} is written twice", row.path);
        }
    }

    #[test]
    fn knobs_are_found_by_name_or_alias_and_typos_get_suggestions() {
        assert_eq!(find("rq_affinity").unwrap().name, "rq_affinity");
        assert_eq!(find("writeback_cpumask").unwrap().name, "wq_sysfs_cpumask");
        assert_eq!(find("rq affinity").map(|knob| knob.name), Ok("rq_affinity"));
        let Err(KnobRefusal::Unknown { meant, .. }) = find("stat_intervall") else {
            panic!()
        };
        assert!(meant.unwrap().starts_with("did you mean stat_interval"));
    }
}
