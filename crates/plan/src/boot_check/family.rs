//! What a family of parameters declares, and the list of them.

use super::case::Case;
use super::{Answer, irqaffinity, isolcpus, nohz_full, rcu_nocbs, shown, workqueue};
use machine::same_name;

/// Parameters that are asked about in one way.
pub(crate) struct Family {
    /// Their names.
    pub names: &'static [&'static str],
    /// Parts of messages by which the kernel refuses them.
    pub complaints: &'static [&'static str],
    /// Rules about boot lines whose error leaves them understood and without effect.
    pub defeated_by: &'static [&'static str],
    /// Whether the kernel shows that it took it; `None` where only its messages can tell.
    pub understood: fn(&Case) -> Option<Answer>,
    /// Whether its effect is there.
    pub works: fn(&Case) -> Answer,
}

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
