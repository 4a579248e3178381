//! Prefers CPUs close together or far apart, and orders equals.

use super::Rule;
use crate::choose::Shape;
use crate::choose::ground::{Ground, Taken};
use crate::choose::places::{Kind, Place};
use machine::CpuSet;

const fn is_node(kind: &Kind) -> bool {
    matches!(kind, Kind::Node(_) | Kind::Package)
}

const fn is_last(kind: &Kind) -> bool {
    matches!(kind, Kind::LastLevelCache | Kind::Die)
}

const fn is_small(kind: &Kind) -> bool {
    matches!(kind, Kind::Level2 | Kind::Cluster)
}

/// The sum of squares is smallest if the shares are most even.
fn crowd(ground: &Ground, place: &Place, taken: &Taken, kind: fn(&Kind) -> bool) -> u64 {
    let counts = ground.shape == Shape::Spread && place.is_any(kind);
    (taken.cpus * taken.cpus) as u64 * u64::from(counts)
}

fn touched(ground: &Ground, place: &Place, taken: &Taken, kind: fn(&Kind) -> bool) -> u64 {
    u64::from(ground.shape == Shape::Pack && taken.cpus > 0 && place.is_any(kind))
}

/// How many places of a kind a choice uses, and how many there are.
fn spreads(ground: &Ground, set: &CpuSet, kind: fn(&Kind) -> bool) -> (usize, usize) {
    let of_kind = || ground.places.iter().filter(|place| place.is_any(kind));
    let used = of_kind().filter(|place| place.cpus.intersects(set)).count();
    (used, of_kind().count())
}

const SPREAD: &str = "--spread asks for CPUs that share as little as possible";
const PACK: &str = "threads that work together reach each other's data fastest in one place";

pub(super) const SPREAD_NODES: Rule = Rule {
    id: "spread-nodes",
    because: SPREAD,
    cost: |ground, place, taken| crowd(ground, place, taken, is_node),
    kept: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over packages and nodes",
};

pub(super) const SPREAD_CACHES: Rule = Rule {
    id: "spread-caches",
    because: SPREAD,
    cost: |ground, place, taken| crowd(ground, place, taken, is_last),
    kept: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over last-level caches",
};

pub(super) const SPREAD_PAIRS: Rule = Rule {
    id: "spread-pairs",
    because: SPREAD,
    cost: |ground, place, taken| crowd(ground, place, taken, is_small),
    kept: |_, _| None,
    breach: None,
    lost: "it is less evenly spread over level-2 caches",
};

pub(super) const ONE_NODE: Rule = Rule {
    id: "one-node",
    because: PACK,
    cost: |ground, place, taken| touched(ground, place, taken, is_node),
    kept: |ground, set| {
        let (used, of) = spreads(ground, set, is_node);
        (of > 1).then(|| match (ground.shape, used) {
            (Shape::Pack, 1) => "all in one package and node".to_owned(),
            (Shape::Pack, _) => format!("in as few packages and nodes as hold them: {used} of {of}"),
            (Shape::Spread, _) => format!("over {used} of {of} packages and nodes, as evenly as can be"),
        })
    },
    breach: None,
    lost: "it reaches over more packages or nodes",
};

pub(super) const ONE_CACHE: Rule = Rule {
    id: "one-cache",
    because: PACK,
    cost: |ground, place, taken| touched(ground, place, taken, is_last),
    kept: |ground, set| {
        let (used, of) = spreads(ground, set, is_last);
        let (_, nodes) = spreads(ground, set, is_node);
        (of > nodes).then(|| match (ground.shape, used) {
            (Shape::Pack, 1) => "all under one last-level cache".to_owned(),
            (Shape::Pack, _) => format!("under as few last-level caches as hold them: {used} of {of}"),
            (Shape::Spread, _) => format!("over {used} of {of} last-level caches, as evenly as can be"),
        })
    },
    breach: None,
    lost: "it reaches over more last-level caches",
};

pub(super) const HIGHEST: Rule = Rule {
    id: "highest-numbers",
    because: "of equally good CPUs the highest numbers are taken: habits and defaults crowd the low ones",
    cost: |_, _, taken| taken.depth,
    kept: |_, _| None,
    breach: None,
    lost: "it is as good, with lower numbers",
};
