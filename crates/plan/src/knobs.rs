//! Every kernel mechanism that quietcore can turn: one file each, one line each in [`KNOBS`].
//!
//! The order of the list is the order of the changes. Partitions come before pins, because a partition
//! rewrites masks (`kernel/cgroup/cpuset.c`, `update_tasks_cpumask`); interrupts come last, because they need
//! nothing from the rest.

mod cpuset_partition;
mod default_smp_affinity;
mod foreign_cpusets;
mod irq_affinity;
mod mask_file;
mod task_placement;
mod workqueue_cpumask;

use crate::{Plan, Profile, Scene};

/// One kernel mechanism: what it is and how an intent uses it.
pub struct Knob {
    /// Name, as the kernel spells it where it has one.
    pub name: &'static str,
    /// What it is, in a sentence or two.
    pub what: &'static str,
    /// Since which kernel.
    pub since: &'static str,
    /// The smallest profile that uses it.
    pub from: Profile,
    /// Names of the interruption classes that it stops.
    pub stops: &'static [&'static str],
    /// What else it does.
    pub side_effects: &'static str,
    /// How to see that it works.
    pub verify: &'static str,
    /// Peers that set it.
    pub peers: &'static [&'static str],
    /// Adds the changes and findings of an intent.
    pub plan: fn(&Scene, &mut Plan),
}

/// Every knob, in the order in which it is applied.
pub const KNOBS: &[&Knob] = &[
    &foreign_cpusets::KNOB,
    &cpuset_partition::KNOB,
    &task_placement::KNOB,
    &workqueue_cpumask::KNOB,
    &default_smp_affinity::KNOB,
    &irq_affinity::KNOB,
];
