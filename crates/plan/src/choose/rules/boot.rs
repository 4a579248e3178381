//! Prefers CPUs that the boot line already isolated.

use super::ChoiceRule;

pub(super) const ISOLATED: ChoiceRule = ChoiceRule {
    id: "isolated-at-boot",
    because: "only the boot line can keep everything away from the start: timers, callbacks, managed interrupts",
    cost: |_, _, taken| taken.fresh as u64,
    achievement: |ground, set| {
        (!ground.boot_isolated.is_empty()).then(|| format!("CPU {set} was isolated at boot already"))
    },
    breach: None,
    lost: "fewer of its CPUs were isolated at boot",
};
