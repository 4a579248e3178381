//! Prefers CPUs close together or far apart, and orders equals.

use super::ChoiceRule;
use crate::choose::PlacementShape;
use crate::choose::context::{ChoiceContext, DomainAllotment};
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
    context: &ChoiceContext,
    place: &TopologyDomain,
    taken: &DomainAllotment,
    kind: fn(&DomainKind) -> bool,
) -> u64 {
    let counts = context.shape == PlacementShape::Spread && place.is_any(kind);
    (taken.cpus * taken.cpus) as u64 * u64::from(counts)
}

fn touched(
    context: &ChoiceContext,
    place: &TopologyDomain,
    taken: &DomainAllotment,
    kind: fn(&DomainKind) -> bool,
) -> u64 {
    u64::from(context.shape == PlacementShape::Pack && taken.cpus > 0 && place.is_any(kind))
}

/// How many places of a kind a choice uses, and how many there are.
fn spreads(context: &ChoiceContext, set: &CpuSet, kind: fn(&DomainKind) -> bool) -> (usize, usize) {
    let of_kind = || context.places.iter().filter(|place| place.is_any(kind));
    let used = of_kind().filter(|place| place.cpus.intersects(set)).count();
    (used, of_kind().count())
}

/// `2 of 4 packages, 1 of 1 nodes`.
fn of_both(packages: (usize, usize), nodes: (usize, usize)) -> String {
    let part = |(used, of): (usize, usize), what: &str| (of > 0).then(|| format!("{used} of {of} {what}"));
    let parts: Vec<String> = [part(packages, "packages"), part(nodes, "nodes")]
        .into_iter()
        .flatten()
        .collect();
    parts.join(", ")
}

const SPREAD: &str = "--spread selects CPUs that share as little as possible";
const PACK: &str = "threads that work together exchange data fastest if they are close";

pub(super) const SPREAD_NODES: ChoiceRule = ChoiceRule {
    id: "spread-nodes",
    because: SPREAD,
    cost: |context, place, taken| unevenness(context, place, taken, is_node),
    achievement: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over packages and nodes",
};

pub(super) const SPREAD_CACHES: ChoiceRule = ChoiceRule {
    id: "spread-caches",
    because: SPREAD,
    cost: |context, place, taken| unevenness(context, place, taken, is_last),
    achievement: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over last-level caches",
};

pub(super) const SPREAD_PAIRS: ChoiceRule = ChoiceRule {
    id: "spread-pairs",
    because: SPREAD,
    cost: |context, place, taken| unevenness(context, place, taken, is_small),
    achievement: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over level-2 caches",
};

pub(super) const ONE_NODE: ChoiceRule = ChoiceRule {
    id: "one-node",
    because: PACK,
    cost: |context, place, taken| touched(context, place, taken, is_node),
    achievement: |context, set| {
        let packages = spreads(context, set, |kind| matches!(kind, DomainKind::Package));
        let nodes = spreads(context, set, |kind| matches!(kind, DomainKind::Node(_)));
        (set.len() > 1 && packages.1.max(nodes.1) > 1).then(|| match context.shape {
            PlacementShape::Pack if packages.0.max(nodes.0) <= 1 => "all in one package and node".to_owned(),
            PlacementShape::Pack => format!("in as few packages and nodes as possible: {}", of_both(packages, nodes)),
            PlacementShape::Spread => format!("over {}, as evenly as possible", of_both(packages, nodes)),
        })
    },
    breach: None,
    lost: "it spans more packages or nodes",
};

pub(super) const ONE_CACHE: ChoiceRule = ChoiceRule {
    id: "one-cache",
    because: PACK,
    cost: |context, place, taken| touched(context, place, taken, is_last),
    achievement: |context, set| {
        let (used, of) = spreads(context, set, is_last);
        let (_, nodes) = spreads(context, set, is_node);
        (set.len() > 1 && of > nodes).then(|| match (context.shape, used) {
            (PlacementShape::Pack, 1) => "all under one last-level cache".to_owned(),
            (PlacementShape::Pack, _) => format!("under as few last-level caches as possible: {used} of {of}"),
            (PlacementShape::Spread, _) => {
                format!("over {used} of {of} last-level caches, as evenly as possible")
            }
        })
    },
    breach: None,
    lost: "it spans more last-level caches",
};

pub(super) const HIGHEST: ChoiceRule = ChoiceRule {
    id: "highest-numbers",
    because: "of equally good CPUs the highest numbers are used: defaults and habits put most work on the low ones",
    cost: |_, _, taken| taken.depth,
    achievement: |_, _| None,
    breach: None,
    lost: "it is equally good, with lower numbers",
};
