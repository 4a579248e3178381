//! Determines which occurrence of a repeated `nohz_full=` or `isolcpus=` the kernel obeys.
//!
//! From 4.15 on both go to `housekeeping_setup` (`kernel/sched/isolation.c`). It stores the first list of each type and drops a
//! later parameter with another list of a stored type ("nohz_full= must match isolcpus="). Up to 5.17 there is one mask for all
//! types. Up to 4.14 each occurrence replaces the previous one (`tick_nohz_full_setup`, `isolated_cpu_setup`).

use super::cpu_list::{Isolcpus, is_empty_list, parse_cpus};
use super::facts::KernelFacts;

/// Whether the first occurrence counts instead of the last.
pub(super) fn first_counts(facts: &KernelFacts) -> bool {
    facts.since((4, 15)) != Some(false)
}

/// Whether the kernel keeps a list. It keeps an empty one from 5.14 to 6.8.
pub(super) fn is_stored(list: &str, facts: &KernelFacts) -> bool {
    match is_empty_list(list) {
        true => facts.since((5, 14)) == Some(true) && facts.since((6, 9)) == Some(false),
        false => parse_cpus(list, facts).is_ok(),
    }
}

/// Every `isolcpus=` that the kernel obeys.
pub(super) fn obeyed<'a>(all: &'a [Isolcpus], facts: &KernelFacts) -> Vec<&'a Isolcpus> {
    if !first_counts(facts) {
        return all.last().into_iter().collect();
    }
    let mut obeyed: Vec<&Isolcpus> = Vec::new();
    for one in all.iter().filter(|one| one.cpus.is_some()) {
        let contradicts = |other: &&Isolcpus| clash(other, one, facts) && other.cpus != one.cpus;
        // An equivalent one changes nothing: a line may have thousands of them.
        if !obeyed.iter().any(|other| contradicts(other) || other.is_like(one)) {
            obeyed.push(one);
        }
    }
    obeyed
}

/// Whether two occurrences must name the same CPUs.
pub(super) fn clash(one: &Isolcpus, other: &Isolcpus, facts: &KernelFacts) -> bool {
    let shared = ["domain", "managed_irq", "nohz"]
        .iter()
        .any(|flag| one.has(flag) && other.has(flag));
    shared || facts.since((5, 18)) == Some(false)
}
