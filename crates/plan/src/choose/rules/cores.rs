//! Prefers whole cores, as few as needed, and the fast kind.

use super::{Breach, ChoiceRule, DomainShare, is_shared};
use crate::Level;
use crate::choose::places::DomainKind;

pub(super) const WHOLE: ChoiceRule = ChoiceRule {
    id: "smt-sibling",
    because: "threads of one core share its execution units, so work on one thread slows down the other",
    cost: |_, place, taken| u64::from(place.is_core() && is_shared(place, taken)),
    achievement: |context, _| {
        context
            .topology
            .has_smt()
            .then(|| "whole cores, with all their threads".to_owned())
    },
    breach: Some(Breach {
        level: Level::Warning,
        advice: "isolate the sibling too, or switch it off with `--with cpu_offline`",
        message: |share: &DomainShare| {
            format!(
                "CPU {} shares its core with housekeeping CPU {}",
                share.isolated, share.left
            )
        },
        fix: |share: &DomainShare| match share.contains_lowest {
            true => "choose another core, or take the sibling offline".to_owned(),
            false => format!("isolate CPU {} too", share.left),
        },
    }),
    lost: "it contains only some threads of a core",
};

pub(super) const PERFORMANCE: ChoiceRule = ChoiceRule {
    id: "performance-cores",
    because: "the fast kind is used unless --kind efficiency requests the other",
    cost: |_, _, taken| taken.slow as u64,
    achievement: |_, _| None,
    breach: None,
    lost: "it has efficiency cores",
};

pub(super) const NO_MORE: ChoiceRule = ChoiceRule {
    id: "no-more-than-asked",
    because: "only whole cores are used, so one thread more may be needed",
    cost: |context, place, taken| {
        let is_machine = place.is_any(|kind| *kind == DomainKind::Machine);
        taken.cpus.saturating_sub(context.count) as u64 * u64::from(is_machine)
    },
    achievement: |_, _| None,
    breach: None,
    lost: "it uses more CPUs",
};
