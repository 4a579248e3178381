//! What makes one choice better than another: a list of rules, the most important first.
//!
//! Each rule is a cost of what is taken of a place. Choices are compared rule by rule, so a lower rule only
//! decides between choices that are equal under all rules above it. What must never happen is not here but in
//! [`super::limits`]. One family of rules is one file, one rule is one line below.

mod boot;
mod caches;
mod cores;
mod first;
mod shape;

use super::ground::{Ground, Taken};
use super::places::Place;
use crate::Level;
use machine::CpuSet;

/// One preference.
pub(crate) struct Rule {
    /// Stable identifier, also that of its finding.
    pub(crate) id: &'static str,
    /// Why it matters.
    pub(crate) because: &'static str,
    /// What it costs to take this much of a place.
    pub(crate) cost: fn(&Ground, &Place, &Taken) -> u64,
    /// What a choice that keeps the rule has achieved; `None` where the machine gives no occasion.
    pub(crate) kept: fn(&Ground, &CpuSet) -> Option<String>,
    /// What is wrong where it costs something; `None` for a rule that only orders equals.
    pub(crate) breach: Option<Breach>,
    /// Why another choice lost by it, where there is no breach to show.
    pub(crate) lost: &'static str,
}

/// How a broken rule is told.
pub(crate) struct Breach {
    /// How much it matters to a user who asked for just these CPUs; `None` is not told then.
    pub(crate) level: Option<Level>,
    /// What is so, of one place.
    pub(crate) message: fn(&Share) -> String,
    /// What to do about it.
    pub(crate) fix: fn(&Share) -> String,
}

/// A place that is partly taken.
pub(crate) struct Share<'a> {
    pub(crate) place: &'a Place,
    pub(crate) isolated: CpuSet,
    pub(crate) left: CpuSet,
    /// Whether the lowest online CPU is among those left, so that the place can never be taken whole.
    pub(crate) holds_lowest: bool,
}

/// Every rule, in the order in which they decide.
pub(crate) const RULES: &[&Rule] = &[
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

/// How many rules.
pub(crate) const COST: usize = RULES.len();

/// What a choice costs under every rule; compared from the first on.
pub(crate) type Cost = [u64; COST];

/// The cost of what is taken of one place.
pub(crate) fn cost_of(ground: &Ground, place: &Place, taken: &Taken) -> Cost {
    let mut cost = [0; COST];
    for (cost, rule) in cost.iter_mut().zip(RULES) {
        *cost = (rule.cost)(ground, place, taken);
    }
    cost
}

/// The cost of a whole choice.
pub(crate) fn weigh(ground: &Ground, set: &CpuSet) -> Cost {
    let mut total = [0; COST];
    for place in &ground.places {
        let cost = cost_of(ground, place, &ground.taken(place, set));
        for (total, cost) in total.iter_mut().zip(cost) {
            *total += cost;
        }
    }
    total
}

/// The places where a choice breaks a rule.
pub(crate) fn broken<'a>(ground: &'a Ground, rule: &Rule, set: &CpuSet) -> Vec<Share<'a>> {
    let costs = |place: &&Place| (rule.cost)(ground, place, &ground.taken(place, set)) > 0;
    let share = |place: &'a Place| Share {
        isolated: place.cpus.and(set),
        left: place.cpus.minus(set),
        holds_lowest: Some(place.first) == ground.topology.online.first(),
        place,
    };
    ground.places.iter().filter(costs).map(share).collect()
}

/// Whether a place is taken in part.
fn is_shared(place: &Place, taken: &Taken) -> bool {
    taken.cpus > 0 && taken.cpus < place.len
}
