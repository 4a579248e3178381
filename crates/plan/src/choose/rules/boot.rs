//! Prefers CPUs that the boot line already isolated.

use super::ChoiceRule;

pub(super) const ISOLATED: ChoiceRule = ChoiceRule {
    id: "isolated-at-boot",
    because: "only the boot line isolates CPUs from the start: timers, callbacks, managed interrupts",
    cost: |_, _, taken| taken.fresh as u64,
    achievement: |context, set| {
        (!context.boot_isolated.is_empty()).then(|| format!("CPU {set} was already isolated at boot"))
    },
    breach: None,
    lost: "fewer of its CPUs were isolated at boot",
};
