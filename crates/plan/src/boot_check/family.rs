//! Lists the families of parameters.

use super::case::ParameterFamily;
use super::{file_evidence, irqaffinity, isolcpus, nohz_full, rcu_nocbs, workqueue};
use machine::same_name;

/// Every family.
pub(crate) const FAMILIES: &[&ParameterFamily] = &[
    &isolcpus::FAMILY,
    &nohz_full::FAMILY,
    &rcu_nocbs::LIST,
    &rcu_nocbs::POLL,
    &irqaffinity::FAMILY,
    &workqueue::FAMILY,
    &file_evidence::FAMILY,
];

/// The family of a parameter.
pub(crate) fn family(name: &str) -> Option<&'static ParameterFamily> {
    let mut all = FAMILIES.iter().copied();
    all.find(|family| family.names.iter().any(|own| same_name(own, name)))
}
