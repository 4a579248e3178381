//! The part of an intent that only a reboot can do: the tick, RCU callbacks and managed interrupts.

use crate::Scene;

/// Parameters for this kernel, or `None` where all that they would do is in force already.
///
/// `isolcpus=managed_irq,domain,` and `nohz_full=` with equal lists are valid on every kernel from 5.6 on
/// (`kernel/sched/isolation.c`: up to 5.17 unequal lists make the kernel drop the second one). `nohz_full=`
/// without `CONFIG_NO_HZ_FULL` is an unknown parameter, so it is left out when the configuration says so.
pub(crate) fn suggest(scene: &Scene) -> Option<String> {
    let isolated = scene.isolated();
    let isolation = &scene.machine.isolation;
    let covered = |set: &Option<machine::CpuSet>| set.as_ref().is_some_and(|set| isolated.is_subset(set));
    if covered(&isolation.boot_isolated) && covered(&isolation.nohz_full) {
        return None;
    }
    let lacks = |option: &str| {
        scene
            .machine
            .kernel
            .config
            .as_ref()
            .is_some_and(|config| !config.contains_key(option))
    };
    let managed = match scene.machine.kernel.version {
        Some(version) if version < (5, 6) => "",
        _ => "managed_irq,domain,",
    };
    let mut line = format!("isolcpus={managed}{isolated}");
    if !lacks("CONFIG_NO_HZ_FULL") {
        line.push_str(&format!(" nohz_full={isolated}"));
    }
    line.push_str(&format!(" irqaffinity={}", scene.housekeeping));
    Some(line)
}
