//! Avoids the first CPU of anything that housekeeping shares.
//!
//! Kernel code picks "some CPU" of a group with `cpumask_first()` of its mask. With `rq_affinity=1`, kernels up to 3.x
//! completed every disk request of a cache group on its first CPU, and arm's GIC still sends each interrupt to the
//! first CPU of its mask. In a group that is taken whole nothing remains that would do so.

use super::{Breach, ChoiceRule, DomainShare, is_shared};
use crate::Level;
use crate::choose::places::{DomainKind, TopologyDomain};

pub(super) const FIRST_CPU: ChoiceRule = ChoiceRule {
    id: "first-cpu",
    because: "kernel code that needs any CPU of a group uses cpumask_first(): disk completions of a whole cache group \
         once went there (rq_affinity=1), and arm interrupts still do",
    cost: |_, place, taken| {
        let is_group = place.is_any(|kind| !matches!(kind, DomainKind::Core | DomainKind::Machine));
        u64::from(is_group && !place.is_core() && taken.first && is_shared(place, taken))
    },
    achievement: |context, _| {
        let is_group = |place: &TopologyDomain| !place.is_core() && place.is_any(|kind| *kind != DomainKind::Machine);
        let has_groups = context.places.iter().any(is_group);
        has_groups.then(|| "not the first CPU of a package, node or cache that housekeeping also uses".to_owned())
    },
    breach: Some(Breach {
        level: Level::Info,
        advice: "leave the first CPU to housekeeping",
        message: |share: &DomainShare| {
            format!(
                "CPU {} is the first of {}: kernel code that needs any CPU there uses the first one (cpumask_first)",
                share.place.first,
                share.place.name()
            )
        },
        fix: |share: &DomainShare| format!("leave CPU {} to housekeeping", share.place.first),
    }),
    lost: "it has the first CPU of a group",
};
