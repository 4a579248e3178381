//! Prefers whole cores, as few as needed, and the fast kind.

use super::{Breach, ChoiceRule, DomainShare, is_shared};
use crate::Level;
use crate::choose::places::DomainKind;

pub(super) const WHOLE: ChoiceRule = ChoiceRule {
    id: "smt-sibling",
    because: "threads of one core share its execution units, so what runs on the other one steals time",
    cost: |_, place, taken| u64::from(place.is_core() && is_shared(place, taken)),
    achievement: |ground, _| {
        ground
            .topology
            .has_smt()
            .then(|| "whole cores, with all their threads".to_owned())
    },
    breach: Some(Breach {
        level: Some(Level::Warning),
        message: |share: &DomainShare| {
            format!(
                "CPU {} shares its core with housekeeping CPU {}",
                share.isolated, share.left
            )
        },
        fix: |share: &DomainShare| match share.contains_lowest {
            true => "choose another core, or switch the sibling off".to_owned(),
            false => format!("isolate CPU {} too", share.left),
        },
    }),
    lost: "it takes cores in part",
};

pub(super) const PERFORMANCE: ChoiceRule = ChoiceRule {
    id: "performance-cores",
    because: "the fast kind is taken unless --kind efficiency asks for the other",
    cost: |_, _, taken| taken.slow as u64,
    achievement: |_, _| None,
    breach: None,
    lost: "it has efficiency cores",
};

pub(super) const NO_MORE: ChoiceRule = ChoiceRule {
    id: "no-more-than-asked",
    because: "cores are taken whole, so a thread more may be needed",
    cost: |ground, place, taken| {
        let is_machine = place.is_any(|kind| *kind == DomainKind::Machine);
        taken.cpus.saturating_sub(ground.count) as u64 * u64::from(is_machine)
    },
    achievement: |_, _| None,
    breach: None,
    lost: "it takes more CPUs",
};
