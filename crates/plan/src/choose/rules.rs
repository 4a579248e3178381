//! Ranks choices by a list of rules, the most important first.
//!
//! Each rule is a cost of what is taken from a place. Choices are compared rule by rule, so a lower rule decides only
//! between choices that are equal under all rules above it. Hard limits are in [`super::limits`]. One family of rules
//! is one file, one rule is one line below.

mod boot;
mod caches;
mod cores;
mod first;
mod shape;

use super::context::{ChoiceContext, DomainAllotment};
use super::places::TopologyDomain;
use crate::Level;
use machine::CpuSet;

/// One preference.
pub(crate) struct ChoiceRule {
    /// Stable identifier, also that of its finding.
    pub(crate) id: &'static str,
    /// Why it matters.
    pub(crate) because: &'static str,
    /// The cost of taking this much of a place.
    pub(crate) cost: fn(&ChoiceContext, &TopologyDomain, &DomainAllotment) -> u64,
    /// What a choice that follows the rule achieved; `None` if the rule does not apply to the machine.
    pub(crate) achievement: fn(&ChoiceContext, &CpuSet) -> Option<String>,
    /// The fault if there is a cost; `None` for a rule that only orders equals.
    pub(crate) breach: Option<Breach>,
    /// Why another choice lost by it, if there is no breach to show.
    pub(crate) lost: &'static str,
}

/// How a broken rule is reported.
pub(crate) struct Breach {
    /// How much it matters to a user who named these CPUs.
    pub(crate) level: Level,
    /// The fault, for one place.
    pub(crate) message: fn(&DomainShare) -> String,
    /// What to do about it on any machine, for `explain`.
    pub(crate) advice: &'static str,
    /// What to do about it in this place.
    pub(crate) fix: fn(&DomainShare) -> String,
}

/// A place that is partly taken.
pub(crate) struct DomainShare<'a> {
    pub(crate) place: &'a TopologyDomain,
    pub(crate) isolated: CpuSet,
    pub(crate) left: CpuSet,
    /// Whether the lowest online CPU is among those left, so that the place can never be taken whole.
    pub(crate) contains_lowest: bool,
}

/// Every rule, in order of decision.
pub(crate) const RULES: &[&ChoiceRule] = &[
    &cores::WHOLE,
    &boot::ISOLATED,
    &cores::PERFORMANCE,
    &cores::NO_MORE,
    &shape::SPREAD_NODES,
    &shape::SPREAD_CACHES,
    &shape::SPREAD_PAIRS,
    &shape::ONE_NODE,
    &first::FIRST_CPU,
    &caches::LEVEL2,
    &caches::LAST_LEVEL,
    &shape::ONE_CACHE,
    &shape::HIGHEST,
];

/// The number of rules.
pub(crate) const COST: usize = RULES.len();

/// The cost of a choice under every rule, compared from the first on.
pub(crate) type ChoiceCost = [u64; COST];

/// The cost of what is taken from one place.
pub(crate) fn cost_of(context: &ChoiceContext, place: &TopologyDomain, taken: &DomainAllotment) -> ChoiceCost {
    let mut cost = [0; COST];
    for (cost, rule) in cost.iter_mut().zip(RULES) {
        *cost = (rule.cost)(context, place, taken);
    }
    cost
}

/// The cost of a whole choice.
pub(crate) fn weigh(context: &ChoiceContext, set: &CpuSet) -> ChoiceCost {
    let mut total = [0; COST];
    for place in &context.places {
        let cost = cost_of(context, place, &context.part_taken(place, set));
        for (total, cost) in total.iter_mut().zip(cost) {
            *total += cost;
        }
    }
    total
}

/// The places where a choice breaks a rule.
pub(crate) fn broken<'a>(context: &'a ChoiceContext, rule: &ChoiceRule, set: &CpuSet) -> Vec<DomainShare<'a>> {
    let costs = |place: &&TopologyDomain| (rule.cost)(context, place, &context.part_taken(place, set)) > 0;
    let share = |place: &'a TopologyDomain| DomainShare {
        isolated: place.cpus.and(set),
        left: place.cpus.minus(set),
        contains_lowest: Some(place.first) == context.topology.online.first(),
        place,
    };
    context.places.iter().filter(costs).map(share).collect()
}

/// Whether a place is taken in part.
fn is_shared(place: &TopologyDomain, taken: &DomainAllotment) -> bool {
    taken.cpus > 0 && taken.cpus < place.len
}
