//! Prefers whole cores, as few as needed, and the fast kind.

use super::{Breach, Rule, Share, is_shared};
use crate::Level;
use crate::choose::places::Kind;

pub(super) const WHOLE: Rule = Rule {
    id: "smt-sibling",
    because: "threads of one core share its execution units, so what runs on the other one steals time",
    cost: |_, place, taken| u64::from(place.is_core() && is_shared(place, taken)),
    kept: |ground, _| {
        ground
            .topology
            .has_smt()
            .then(|| "whole cores, with all their threads".to_owned())
    },
    breach: Some(Breach {
        level: Some(Level::Warning),
        message: |share: &Share| {
            format!(
                "CPU {} shares its core with housekeeping CPU {}",
                share.isolated, share.left
            )
        },
        fix: |share: &Share| match share.holds_lowest {
            true => "choose another core, or switch the sibling off".to_owned(),
            false => format!("isolate CPU {} too", share.left),
        },
    }),
    lost: "it takes cores in part",
};

pub(super) const PERFORMANCE: Rule = Rule {
    id: "performance-cores",
    because: "the fast kind is taken unless --kind efficiency asks for the other",
    cost: |_, _, taken| taken.slow as u64,
    kept: |_, _| None,
    breach: None,
    lost: "it has efficiency cores",
};

pub(super) const NO_MORE: Rule = Rule {
    id: "no-more-than-asked",
    because: "cores are taken whole, so a thread more may be needed",
    cost: |ground, place, taken| {
        let is_machine = place.is_any(|kind| *kind == Kind::Machine);
        taken.cpus.saturating_sub(ground.count) as u64 * u64::from(is_machine)
    },
    kept: |_, _| None,
    breach: None,
    lost: "it takes more CPUs",
};
