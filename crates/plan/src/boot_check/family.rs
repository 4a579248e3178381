//! Lists the families of parameters.

use super::case::Family;
use super::{irqaffinity, isolcpus, nohz_full, rcu_nocbs, shown, workqueue};
use machine::same_name;

/// Every family.
pub(crate) const FAMILIES: &[&Family] = &[
    &isolcpus::FAMILY,
    &nohz_full::FAMILY,
    &rcu_nocbs::LIST,
    &rcu_nocbs::POLL,
    &irqaffinity::FAMILY,
    &workqueue::FAMILY,
    &shown::FAMILY,
];

/// The family of a parameter.
pub(crate) fn family(name: &str) -> Option<&'static Family> {
    let mut all = FAMILIES.iter().copied();
    all.find(|family| family.names.iter().any(|own| same_name(own, name)))
}
