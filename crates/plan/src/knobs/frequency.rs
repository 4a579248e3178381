//! Sets the frequency of CPUs and what chooses it (`drivers/cpufreq/cpufreq.c`). CPUs that share a clock share one
//! directory of settings, a policy.

use super::knob_file::KnobFile;
use super::{Knob, KnobUse, KnobValueKind, Presence, declare};
use crate::parameters::ParameterCost;
use crate::{Finding, FindingId, Plan, PlanContext, Profile};
use machine::{CpuId, CpuSet};

/// Sets the hint for processors that choose their frequency themselves (`intel_pstate`, `amd_pstate` in active mode).
pub(super) const ENERGY_PERFORMANCE_PREFERENCE: Knob = Knob {
    name: "energy_performance_preference",
    files: &["/sys/devices/system/cpu/cpuN/cpufreq/energy_performance_preference"],
    reads: &["/sys/devices/system/cpu/cpuN/cpufreq/affected_cpus"],
    what: "whether a processor that chooses its own frequency prefers speed or power saving",
    why: "the processor chooses its own frequency and would save power in the middle of work",
    isolation: "performance: the frequency rises at once and falls late",
    needs: "intel_pstate or amd_pstate in active mode",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&[
        "default",
        "performance",
        "balance_performance",
        "balance_power",
        "power",
    ]),
    usual: "performance",
    price: ParameterCost::Power,
    side_effects: "CPUs that share the clock of an isolated one run fast too",
    verify: "the files",
    peers: &["TuneD"],
    refused: &[
        (declare::EBUSY, "the governor performance overrides it"),
        (declare::EINVAL, "this processor does not offer that preference"),
    ],
    plan: preference,
    ..Knob::PLAIN
};

/// Sets what chooses the frequency of a CPU.
pub(super) const SCALING_GOVERNOR: Knob = Knob {
    name: "scaling_governor",
    files: &["/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor"],
    reads: &[
        "/sys/devices/system/cpu/cpuN/cpufreq/scaling_available_governors",
        "/sys/devices/system/cpu/cpuN/cpufreq/affected_cpus",
    ],
    what: "what chooses the frequency of a CPU",
    why: "a frequency change stops the CPU for a moment, and equal work takes unequal time",
    isolation: "performance: no frequency changes during work",
    needs: "a machine whose frequency the kernel scales; virtual machines have none",
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
    plan: governor,
    ..Knob::PLAIN
};

/// Sets the lowest frequency of a CPU.
pub(super) const SCALING_MIN_FREQ: Knob = Knob {
    name: "scaling_min_freq",
    files: &["/sys/devices/system/cpu/cpuN/cpufreq/scaling_min_freq"],
    reads: &[
        "/sys/devices/system/cpu/cpuN/cpufreq/scaling_max_freq",
        "/sys/devices/system/cpu/cpuN/cpufreq/affected_cpus",
    ],
    what: "the lowest frequency that a CPU may take, in kHz",
    why: "a CPU that may slow down needs unequal time for equal work",
    isolation: "as high as scaling_max_freq: the frequency stays where it is",
    needs: "a machine whose frequency the kernel scales; virtual machines have none",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Number(1, 100_000_000),
    price: ParameterCost::Power,
    side_effects: "the kernel rounds to a frequency that it supports; CPUs that share the clock run fast too",
    verify: "the files",
    peers: &["TuneD"],
    refused: &[(declare::EINVAL, "it is above scaling_max_freq")],
    plan: lowest,
    ..Knob::PLAIN
};

/// Disables frequencies above what all cores can sustain together: how high a core goes depends on the load of its neighbours.
pub(super) const NO_TURBO: Knob = Knob {
    name: "no_turbo",
    aliases: &["boost"],
    files: &[INTEL, OTHERS],
    what: "whether turbo frequencies are used, on all CPUs",
    why: "how far a core may exceed its base frequency depends on its neighbours",
    isolation: "1 (boost: 0): constant but slower",
    needs: "a processor with turbo whose driver has the file",
    price: ParameterCost::Speed,
    side_effects: "the whole machine becomes slower",
    peers: &["pyperf", "TuneD"],
    refused: &[(declare::EPERM, "the firmware has disabled turbo permanently")],
    plan: turbo,
    ..Knob::PLAIN
};

const INTEL: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const OTHERS: &str = "/sys/devices/system/cpu/cpufreq/boost";

fn preference(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let policies = policies(knob, scene).into_iter();
    let presences = policies.map(|policy| policy.file.set(scene, plan, scene.value_of(knob)));
    presences.max().unwrap_or_default()
}

fn governor(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let value = scene.value_of(knob);
    let mut presence = Presence::Absent;
    for CpufreqPolicy { file, dir, shared_with } in policies(knob, scene) {
        presence = Presence::Here;
        let offered = scene.settings.get(&format!("{dir}scaling_available_governors"));
        if let Some(offered) = offered.filter(|offered| !offered.split_whitespace().any(|one| one == value)) {
            let message = format!("the governor {value} is not offered here, only {offered}");
            plan.findings.push(
                Finding::warning(FindingId::GOVERNOR_NOT_OFFERED, file.part, message).fix(format!(
                    "load it (modprobe cpufreq_{value}), or choose another with --with scaling_governor="
                )),
            );
            continue;
        }
        if !shared_with.is_empty() {
            let message = format!("CPU {shared_with} shares the clock of the isolated CPUs and also changes frequency");
            plan.findings
                .push(Finding::info(FindingId::CLOCK_SHARED, &file.part, message));
        }
        file.set(scene, plan, value);
    }
    presence
}

fn lowest(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut presence = Presence::Absent;
    for policy in policies(knob, scene) {
        presence = Presence::Here;
        let value = match scene.is_requested(knob) {
            true => Some(scene.value_of(knob)),
            false => scene.settings.get(&format!("{}scaling_max_freq", policy.dir)),
        };
        if let Some(value) = value {
            policy.file.set(scene, plan, value);
        }
    }
    presence
}

fn turbo(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    match KnobFile::new(knob, "", INTEL).set(scene, plan, "1") {
        Presence::Here => Presence::Here,
        Presence::Absent => KnobFile::new(knob, "boost", OTHERS).set(scene, plan, "0"),
    }
}

/// The setting of one policy.
struct CpufreqPolicy<'a> {
    /// Its file, as part `policy3`, or `cpu3` if the machine does not expose policies.
    file: KnobFile<'a>,
    /// Directory, with a slash at the end.
    dir: &'a str,
    /// Housekeeping CPUs that share it.
    shared_with: CpuSet,
}

/// The policies of the isolated CPUs that have the file of this knob.
fn policies<'a>(knob: &'a Knob, scene: &'a PlanContext) -> Vec<CpufreqPolicy<'a>> {
    let all = scene.settings.family("/sys/devices/system/cpu/", knob.name);
    all.filter_map(|(between, path, _)| {
        let dir = path.strip_suffix(knob.name)?;
        let name = between
            .split('/')
            .find(|part| part.starts_with("policy") || part.starts_with("cpu") && *part != "cpufreq")?;
        // Numbers separated by blanks, not a list: `0 1 2 3`.
        let listed = scene.settings.get(&format!("{dir}affected_cpus"));
        let own = || name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let cpus: CpuSet = listed
            .unwrap_or_else(own)
            .split_whitespace()
            .filter_map(|one| one.parse().ok().map(CpuId))
            .collect();
        cpus.intersects(scene.isolated()).then(|| CpufreqPolicy {
            file: KnobFile::new(knob, name, path),
            dir,
            shared_with: cpus.and(&scene.housekeeping),
        })
    })
    .collect()
}
