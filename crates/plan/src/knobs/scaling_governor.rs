//! Sets what chooses the frequency of a CPU.

use super::frequency_policy::policies;
use super::value_file::{ValueFile, set};
use super::{Knob, KnobUse, KnobValueKind, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Finding, FindingId, Level, Plan, PlanContext, Profile};

pub(super) const KNOB: Knob = Knob {
    name: "scaling_governor",
    files: &["/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor"],
    reads: &[
        "/sys/devices/system/cpu/cpuN/cpufreq/scaling_available_governors",
        "/sys/devices/system/cpu/cpuN/cpufreq/affected_cpus",
    ],
    what: "who chooses the frequency of a CPU",
    isolation: "performance: no change of frequency in the middle of work",
    needs: "a machine whose frequency the kernel scales; virtual ones have none",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&[
        "performance",
        "powersave",
        "schedutil",
        "ondemand",
        "conservative",
        "userspace",
    ]),
    usual: "performance",
    price: ParameterCost::Power,
    stops: &["soft_timer", "irq_work"],
    side_effects: "CPUs that share the clock of an isolated one run fast too",
    verify: "the files",
    peers: &["partrt", "TuneD", "pyperf", "rt-conf"],
    refused: &[(declare::EINVAL, "the governor is not loaded")],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let value = scene.value_of(&KNOB);
    let mut presence = Presence::Absent;
    for policy in policies(scene, "scaling_governor") {
        presence = Presence::Here;
        let offered = scene
            .settings
            .get(&format!("{}scaling_available_governors", policy.dir));
        if let Some(offered) = offered.filter(|offered| !offered.split_whitespace().any(|one| one == value)) {
            let message = format!("the governor {value} is not offered here, only {offered}");
            plan.findings.push(
                Finding::new(Level::Warning, FindingId::GOVERNOR_NOT_OFFERED, policy.name, message).fix(format!(
                    "load it (modprobe cpufreq_{value}), or name another with --with scaling_governor="
                )),
            );
            continue;
        }
        if !policy.shared_with.is_empty() {
            let message = format!(
                "CPU {} shares the clock of the isolated CPUs and changes too",
                policy.shared_with
            );
            plan.findings
                .push(Finding::new(Level::Info, FindingId::CLOCK_SHARED, policy.name, message));
        }
        let file = ValueFile {
            knob: &KNOB,
            part: policy.name,
            path: policy.path,
            value,
            why: "a change of frequency stops the CPU for a moment and makes equal work take unequal time",
        };
        set(scene, plan, &file);
    }
    presence
}
