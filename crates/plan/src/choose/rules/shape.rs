//! Prefers CPUs close together or far apart, and orders equals.

use super::ChoiceRule;
use crate::choose::PlacementShape;
use crate::choose::ground::{ChoiceContext, DomainAllotment};
use crate::choose::places::{DomainKind, TopologyDomain};
use machine::CpuSet;

const fn is_node(kind: &DomainKind) -> bool {
    matches!(kind, DomainKind::Node(_) | DomainKind::Package)
}

const fn is_last(kind: &DomainKind) -> bool {
    matches!(kind, DomainKind::LastLevelCache | DomainKind::Die)
}

const fn is_small(kind: &DomainKind) -> bool {
    matches!(kind, DomainKind::Level2 | DomainKind::Cluster)
}

/// The sum of squares is smallest if the shares are most even.
fn unevenness(
    ground: &ChoiceContext,
    place: &TopologyDomain,
    taken: &DomainAllotment,
    kind: fn(&DomainKind) -> bool,
) -> u64 {
    let counts = ground.shape == PlacementShape::Spread && place.is_any(kind);
    (taken.cpus * taken.cpus) as u64 * u64::from(counts)
}

fn touched(
    ground: &ChoiceContext,
    place: &TopologyDomain,
    taken: &DomainAllotment,
    kind: fn(&DomainKind) -> bool,
) -> u64 {
    u64::from(ground.shape == PlacementShape::Pack && taken.cpus > 0 && place.is_any(kind))
}

/// How many places of a kind a choice uses, and how many there are.
fn spreads(ground: &ChoiceContext, set: &CpuSet, kind: fn(&DomainKind) -> bool) -> (usize, usize) {
    let of_kind = || ground.places.iter().filter(|place| place.is_any(kind));
    let used = of_kind().filter(|place| place.cpus.intersects(set)).count();
    (used, of_kind().count())
}

const SPREAD: &str = "--spread asks for CPUs that share as little as possible";
const PACK: &str = "threads that work together reach each other's data fastest in one place";

pub(super) const SPREAD_NODES: ChoiceRule = ChoiceRule {
    id: "spread-nodes",
    because: SPREAD,
    cost: |ground, place, taken| unevenness(ground, place, taken, is_node),
    achievement: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over packages and nodes",
};

pub(super) const SPREAD_CACHES: ChoiceRule = ChoiceRule {
    id: "spread-caches",
    because: SPREAD,
    cost: |ground, place, taken| unevenness(ground, place, taken, is_last),
    achievement: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over last-level caches",
};

pub(super) const SPREAD_PAIRS: ChoiceRule = ChoiceRule {
    id: "spread-pairs",
    because: SPREAD,
    cost: |ground, place, taken| unevenness(ground, place, taken, is_small),
    achievement: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over level-2 caches",
};

pub(super) const ONE_NODE: ChoiceRule = ChoiceRule {
    id: "one-node",
    because: PACK,
    cost: |ground, place, taken| touched(ground, place, taken, is_node),
    achievement: |ground, set| {
        let (used, of) = spreads(ground, set, is_node);
        (of > 1).then(|| match (ground.shape, used) {
            (PlacementShape::Pack, 1) => "all in one package and node".to_owned(),
            (PlacementShape::Pack, _) => format!("in as few packages and nodes as hold them: {used} of {of}"),
            (PlacementShape::Spread, _) => {
                format!("over {used} of {of} packages and nodes, as evenly as can be")
            }
        })
    },
    breach: None,
    lost: "it reaches over more packages or nodes",
};

pub(super) const ONE_CACHE: ChoiceRule = ChoiceRule {
    id: "one-cache",
    because: PACK,
    cost: |ground, place, taken| touched(ground, place, taken, is_last),
    achievement: |ground, set| {
        let (used, of) = spreads(ground, set, is_last);
        let (_, nodes) = spreads(ground, set, is_node);
        (of > nodes).then(|| match (ground.shape, used) {
            (PlacementShape::Pack, 1) => "all under one last-level cache".to_owned(),
            (PlacementShape::Pack, _) => {
                format!("under as few last-level caches as hold them: {used} of {of}")
            }
            (PlacementShape::Spread, _) => {
                format!("over {used} of {of} last-level caches, as evenly as can be")
            }
        })
    },
    breach: None,
    lost: "it reaches over more last-level caches",
};

pub(super) const HIGHEST: ChoiceRule = ChoiceRule {
    id: "highest-numbers",
    because: "of equally good CPUs the highest numbers are taken: habits and defaults crowd the low ones",
    cost: |_, _, taken| taken.depth,
    achievement: |_, _| None,
    breach: None,
    lost: "it is as good, with lower numbers",
};
