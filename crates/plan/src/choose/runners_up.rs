//! Lists the alternatives: other places, other kinds, what a user would write by hand, and the rule by which each lost.

use super::context::ChoiceContext;
use super::limits::CandidateLimits;
use super::rules::{ChoiceCost, RULES, broken, weigh};
use super::{BestSet, CpuRequest, PlacementShape, best_set, kinds};
use machine::{CpuId, CpuSet, Machine};
use serde::Serialize;

/// A choice that was not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunnerUp {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Stable identifier of the rule by which it lost.
    pub rule: String,
    /// How.
    pub because: String,
}

/// Maximum number of alternatives shown.
const MAX_LISTED: usize = 4;
/// Maximum number shown that lost by the same rule.
const MAX_SAME_RULE: usize = 2;
/// Number of places that are searched for another choice.
const SEARCHED: usize = 3;

/// The best alternatives, best first.
pub(super) fn of(machine: &Machine, request: &CpuRequest, context: &ChoiceContext, best: &BestSet) -> Vec<RunnerUp> {
    let mut others: Vec<(ChoiceCost, CpuSet)> = Vec::new();
    let mut offer = |set: CpuSet| {
        let is_new = set != best.cpus && others.iter().all(|(_, other)| *other != set);
        if is_new
            && context
                .places
                .iter()
                .all(|place| context.may_take(place, place.cpus.and(&set).len()))
        {
            others.push((weigh(context, &set), set));
        }
    };
    for available in elsewhere(context, best) {
        if let Some(set) = best_set(context, &available) {
            offer(set);
        }
    }
    for kind in kinds(machine, request).unwrap_or_default() {
        if let Ok(limits) = CandidateLimits::of(machine, request, kind, None)
            && limits.available != best.limits.available
            && let Some(set) = best_set(context, &limits.available)
        {
            offer(set);
        }
    }
    let other_shape = CpuRequest {
        shape: match request.shape {
            PlacementShape::Pack => PlacementShape::Spread,
            PlacementShape::Spread => PlacementShape::Pack,
        },
        ..request.clone()
    };
    if let Some(set) = best_set(
        &ChoiceContext::new(machine, &other_shape, &best.limits),
        &best.limits.available,
    ) {
        offer(set);
    }
    by_hand(context).into_iter().for_each(&mut offer);
    others.sort();
    // Many differ only in their numbers: a few of each kind say more than many of one.
    let mut listed: Vec<RunnerUp> = Vec::new();
    let losers = others.into_iter();
    for other in losers.filter_map(|(cost, set)| lost(context, best, &cost, set)) {
        let alike = listed.iter().filter(|known| known.rule == other.rule).count();
        if alike < MAX_SAME_RULE && listed.len() < MAX_LISTED {
            listed.push(other);
        }
    }
    listed
}

/// What is left of the machine for another choice: without the cores of the chosen CPUs, one at a time, and in the other nodes.
fn elsewhere(context: &ChoiceContext, best: &BestSet) -> Vec<CpuSet> {
    let cores: Vec<&CpuSet> = context
        .places
        .iter()
        .filter(|place| place.is_core() && place.cpus.intersects(&best.cpus))
        .map(|place| &place.cpus)
        .collect();
    let all = &context.available;
    let ends = cores.first().into_iter().chain(cores.last());
    let mut areas: Vec<CpuSet> = ends.map(|core| all.minus(core)).collect();
    areas.push(all.minus(&best.cpus));
    let other_nodes = context.places.iter().rev();
    let other_nodes = other_nodes.filter(|place| place.node().is_some() && !place.cpus.intersects(&best.cpus));
    areas.extend(other_nodes.take(SEARCHED).map(|place| all.and(&place.cpus)));
    areas
}

/// What users write without looking: the last CPUs, and the first ones after the lowest.
fn by_hand(context: &ChoiceContext) -> Vec<CpuSet> {
    let ids: Vec<CpuId> = context.available.iter().collect();
    if ids.len() < context.count {
        return Vec::new();
    }
    let low = ids.iter().take(context.count).copied().collect();
    let high = ids.iter().rev().take(context.count).copied().collect();
    vec![high, low]
}

fn lost(context: &ChoiceContext, best: &BestSet, cost: &ChoiceCost, cpus: CpuSet) -> Option<RunnerUp> {
    let decisive = RULES.iter().zip(cost.iter().zip(&best.cost));
    let (rule, _) = decisive.into_iter().find(|(_, (other, own))| other != own)?;
    let shares = broken(context, rule, &cpus);
    let because = match (&rule.breach, shares.first()) {
        (Some(breach), Some(share)) => (breach.message)(share),
        _ => rule.lost.to_owned(),
    };
    Some(RunnerUp {
        cpus,
        rule: rule.id.to_owned(),
        because,
    })
}
