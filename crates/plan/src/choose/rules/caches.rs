//! Prefers caches that housekeeping does not use. On an Intel J1900, whose cores share a level-2 cache in pairs, the
//! largest latency fell from 40 to 6 microseconds when both CPUs of a pair were dedicated.

use super::{Breach, ChoiceRule, DomainShare, is_shared};
use crate::Level;
use crate::choose::ground::ChoiceContext;
use crate::choose::places::{DomainKind, TopologyDomain};
use machine::CpuSet;

const fn is_small(kind: &DomainKind) -> bool {
    matches!(kind, DomainKind::Level2 | DomainKind::Cluster)
}

const fn is_last(kind: &DomainKind) -> bool {
    matches!(kind, DomainKind::LastLevelCache)
}

pub(super) const LEVEL2: ChoiceRule = ChoiceRule {
    id: "shared-l2",
    because: "what else uses the same level-2 cache throws your data out of it: on a J1900 a pair to itself \
              brought the worst latency from 40 to 6 us",
    cost: |_, place, taken| u64::from(place.is_any(is_small) && can_differ(place) && is_shared(place, taken)),
    achievement: |ground, set| {
        whole(ground, set, is_small).map(|sets| format!("level-2 cache of CPU {sets} to itself"))
    },
    breach: Some(Breach {
        level: Some(Level::Warning),
        message: |share: &DomainShare| shares(share, "level-2 cache"),
        fix,
    }),
    lost: "it shares a level-2 cache with housekeeping",
};

pub(super) const LAST_LEVEL: ChoiceRule = ChoiceRule {
    id: "shared-llc",
    because: "housekeeping that uses the same last-level cache throws your data out of it",
    // A last-level cache at level 2 is already counted above.
    cost: |_, place, taken| {
        let is_only_last = place.is_any(is_last) && !place.is_any(is_small);
        u64::from(is_only_last && can_differ(place) && is_shared(place, taken))
    },
    achievement: |ground, set| {
        whole(ground, set, is_last).map(|sets| format!("last-level cache of CPU {sets} to itself"))
    },
    breach: Some(Breach {
        level: Some(Level::Info),
        message: |share: &DomainShare| shares(share, "last-level cache"),
        fix,
    }),
    lost: "it shares more last-level caches with housekeeping",
};

/// Whether choices can differ by a cache: a core's own cache counts with the core, and a cache of the whole machine is
/// always shared.
fn can_differ(place: &TopologyDomain) -> bool {
    !place.is_core() && !place.is_any(|kind| *kind == DomainKind::Machine)
}

/// CPUs of caches of a kind that are taken whole, not counting single cores.
fn whole(ground: &ChoiceContext, set: &CpuSet, kind: fn(&DomainKind) -> bool) -> Option<CpuSet> {
    let is_whole = |place: &&TopologyDomain| place.is_any(kind) && !place.is_core() && place.cpus.is_subset(set);
    let all = CpuSet::union(ground.places.iter().filter(is_whole).map(|place| &place.cpus));
    (!all.is_empty()).then_some(all)
}

fn shares(share: &DomainShare, cache: &str) -> String {
    let (isolated, left) = (&share.isolated, &share.left);
    format!("CPU {isolated} shares its {cache} with housekeeping CPU {left}")
}

fn fix(share: &DomainShare) -> String {
    if share.contains_lowest {
        return "choose CPUs of a cache that the lowest CPU does not use, if there are enough".to_owned();
    }
    let all = share.isolated.or(&share.left);
    format!("isolate all of CPU {all} if that much can be spared")
}
