//! Prefers caches that housekeeping does not use. On an Intel J1900, whose cores share a level-2 cache in pairs, the
//! largest latency fell from 40 to 6 microseconds when both CPUs of a pair were dedicated.

use super::{Breach, ChoiceRule, DomainShare, is_shared};
use crate::Level;
use crate::choose::context::ChoiceContext;
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
    because: "other users of the same level-2 cache evict your data: on a J1900, a pair with its own cache had a worst \
         latency of 6 us instead of 40 us",
    cost: |_, place, taken| u64::from(place.is_any(is_small) && can_differ(place) && is_shared(place, taken)),
    achievement: |context, set| {
        whole(context, set, is_small)
            .map(|sets| format!("CPU {sets} shares its level-2 cache with no housekeeping CPU"))
    },
    breach: Some(Breach {
        level: Level::Warning,
        advice: "isolate all CPUs of the cache, or choose others",
        message: |share: &DomainShare| shares(share, "level-2 cache"),
        fix,
    }),
    lost: "it shares a level-2 cache with housekeeping",
};

pub(super) const LAST_LEVEL: ChoiceRule = ChoiceRule {
    id: "shared-llc",
    because: "housekeeping work on the same last-level cache evicts your data",
    // A last-level cache at level 2 is already counted above.
    cost: |_, place, taken| {
        let is_only_last = place.is_any(is_last) && !place.is_any(is_small);
        u64::from(is_only_last && can_differ(place) && is_shared(place, taken))
    },
    achievement: |context, set| {
        whole(context, set, is_last)
            .map(|sets| format!("CPU {sets} shares its last-level cache with no housekeeping CPU"))
    },
    breach: Some(Breach {
        level: Level::Info,
        advice: "isolate all CPUs of the cache, or choose others",
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
fn whole(context: &ChoiceContext, set: &CpuSet, kind: fn(&DomainKind) -> bool) -> Option<CpuSet> {
    let is_whole = |place: &&TopologyDomain| place.is_any(kind) && !place.is_core() && place.cpus.is_subset(set);
    let all = CpuSet::union(context.places.iter().filter(is_whole).map(|place| &place.cpus));
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
    format!("isolate all of CPU {all} if you can spare them")
}
