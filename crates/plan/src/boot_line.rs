//! Builds the boot line for the part of an intent that needs a reboot: managed interrupts, the tick, RCU callbacks. The
//! line is written for one specific kernel.
//!
//! The profiles differ as follows. `minimal` holds what costs nothing: scheduler domains, managed interrupts, interrupt
//! affinity, RCU callbacks. `balanced` adds `nohz_full=`, which makes entering the kernel a little slower. `strict`
//! adds what costs the other CPUs power. No profile holds a parameter that reduces safety or security.

use crate::lint::{KernelFacts, lint};
use crate::{Finding, FindingId, Level, PlanContext, Profile};
use machine::{CpuSet, Isolation, same_name};

/// A boot line with its findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootLine {
    /// Parameters to add; `None` if a reboot would add nothing.
    pub line: Option<String>,
    /// What this kernel ignores, what is redundant, and what needs no reboot.
    pub findings: Vec<Finding>,
}

/// What the line is for.
#[derive(Clone, Copy, Debug)]
pub struct BootPurpose<'a> {
    /// CPUs to isolate.
    pub isolated: &'a CpuSet,
    /// CPUs that keep everything else.
    pub housekeeping: &'a CpuSet,
    /// How far to go.
    pub profile: Profile,
}

/// The line for a kernel. All its lists are the same: kernels up to 5.17 have one mask for all of them and drop the
/// second of two different lists (`kernel/sched/isolation.c`, `housekeeping_setup`).
#[must_use]
pub fn boot_line(request: &BootPurpose, facts: &KernelFacts) -> BootLine {
    let mut findings = Vec::new();
    let boot = facts.boot_cpu();
    let boot_only: CpuSet = [boot].into_iter().collect();
    let cpus = request.isolated.minus(&boot_only);
    if cpus != *request.isolated {
        let message = "the boot CPU keeps time for the other CPUs, so the kernel does not stop its tick";
        findings.push(
            Finding::warning(FindingId::BOOT_LINE_BOOT_CPU, format!("cpu{boot}"), message).fix("isolate other CPUs"),
        );
    }
    if cpus.is_empty() {
        return BootLine { line: None, findings };
    }
    let mut words = Vec::new();
    words.extend(isolcpus(&cpus, facts, &mut findings));
    words.extend(tick_and_rcu(&cpus, request.profile, facts, &mut findings));
    if !request.housekeeping.is_empty() {
        words.push(format!("irqaffinity={}", request.housekeeping));
    }
    BootLine {
        line: (!words.is_empty()).then(|| words.join(" ")),
        findings,
    }
}

fn ignored(parameter: &str, option: &str) -> Finding {
    let message = format!("this kernel has no {option} and would ignore {parameter}=; it is left out");
    Finding::warning(FindingId::BOOT_LINE_IGNORED, parameter, message).fix(format!("use a kernel with {option}=y"))
}

fn uncertain_finding(parameter: &str, option: &str) -> Finding {
    let message = format!("whether this kernel has {option} is unknown; without it {parameter}= is ignored");
    Finding::info(FindingId::BOOT_LINE_UNSURE, parameter, message).fix("check /boot/config-RELEASE or /proc/config.gz")
}

fn isolcpus(cpus: &CpuSet, facts: &KernelFacts, findings: &mut Vec<Finding>) -> Option<String> {
    if facts.since((4, 15)) == Some(true) && facts.has("CONFIG_CPU_ISOLATION") == Some(false) {
        findings.push(ignored("isolcpus", "CONFIG_CPU_ISOLATION"));
        return None;
    }
    // A kernel before 5.8 drops the whole parameter if it does not know a flag. So the flags are written only if the
    // kernel is known to support them, or if nothing is known and the kernel is most likely newer.
    let managed = match facts.since((5, 6)) {
        Some(known) => known,
        None => facts.version.is_none(),
    };
    if managed {
        return Some(format!("isolcpus=managed_irq,domain,{cpus}"));
    }
    let message = "isolcpus=managed_irq needs kernel 5.6: interrupts whose mask the kernel manages stay where they are";
    findings.push(
        Finding::info(FindingId::BOOT_LINE_NO_MANAGED_IRQ, "isolcpus", message)
            .fix("do not use those devices from the isolated CPUs"),
    );
    Some(format!("isolcpus={cpus}"))
}

fn tick_and_rcu(cpus: &CpuSet, profile: Profile, facts: &KernelFacts, findings: &mut Vec<Finding>) -> Vec<String> {
    let mut words = Vec::new();
    let tickless = profile >= Profile::Balanced;
    let (has_tick, has_rcu) = (facts.has("CONFIG_NO_HZ_FULL"), facts.has("CONFIG_RCU_NOCB_CPU"));
    match (tickless, has_tick) {
        (true, Some(false)) => findings.push(ignored("nohz_full", "CONFIG_NO_HZ_FULL")),
        (true, known) => {
            words.push(format!("nohz_full={cpus}"));
            if known.is_none() {
                findings.push(uncertain_finding("nohz_full", "CONFIG_NO_HZ_FULL"));
            }
            let message = "nohz_full= includes the RCU callbacks of its CPUs, so rcu_nocbs= is left out";
            findings.push(Finding::info(FindingId::BOOT_LINE_REDUNDANT, "rcu_nocbs", message));
        }
        (false, _) => {}
    }
    if words.is_empty() {
        match has_rcu {
            Some(false) => findings.push(ignored("rcu_nocbs", "CONFIG_RCU_NOCB_CPU")),
            known => {
                words.push(format!("rcu_nocbs={cpus}"));
                if known.is_none() {
                    findings.push(uncertain_finding("rcu_nocbs", "CONFIG_RCU_NOCB_CPU"));
                }
            }
        }
    }
    if profile >= Profile::Strict {
        if !words.is_empty() {
            words.push("rcu_nocb_poll".to_owned());
        }
        words.push("skew_tick=1".to_owned());
        // From 6.12 on nohz_full= enables it (`kernel/workqueue.c`, `workqueue_init_early`).
        if facts.since((6, 12)) == Some(false) || (!tickless || has_tick == Some(false)) {
            words.push("workqueue.power_efficient=1".to_owned());
        }
    }
    words
}

/// The line for a scene; `None` if the running kernel already does all that it would do.
pub(crate) fn suggest(scene: &PlanContext) -> BootLine {
    let mut facts = KernelFacts::of_machine(scene.machine);
    // Which siblings to isolate is decided, and reported, by the intent.
    facts.cores.clear();
    let isolated = all_isolated(scene);
    let request = BootPurpose {
        isolated: &isolated,
        housekeeping: &scene.housekeeping,
        profile: scene.intent.profile,
    };
    let mut suggested = boot_line(&request, &facts);
    let Some(line) = suggested.line.clone() else {
        return suggested;
    };
    if line.split(' ').all(|word| in_force(word, scene)) {
        suggested.line = None;
        suggested.findings.retain(|finding| finding.level > Level::Info);
        return suggested;
    }
    let message = "managed interrupts, the tick and RCU callbacks need a reboot; scheduler domains and interrupt \
         affinities do not, and are among the changes above";
    suggested
        .findings
        .push(Finding::info(FindingId::BOOT_LINE_AT_RUN_TIME, "boot line", message));
    suggested.findings.extend(conflicts(scene, &line, &facts));
    suggested
}

/// The isolated CPUs of all active partitions: there is only one boot line for all of them.
fn all_isolated(scene: &PlanContext) -> CpuSet {
    let others = scene.in_force.iter();
    others.fold(scene.isolated().clone(), |all, other| all.or(&other.cpus))
}

/// Whether the running kernel already does what a word requests.
fn in_force(word: &str, scene: &PlanContext) -> bool {
    let Isolation {
        boot_isolated,
        nohz_full,
        rcu_nocbs,
        irqaffinity,
        ..
    } = &scene.machine.isolation;
    let boot: CpuSet = scene.machine.topology.boot_cpu.into_iter().collect();
    let isolated = all_isolated(scene).minus(&boot);
    let covers = |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| isolated.is_subset(set));
    let Some(cmdline) = &scene.machine.kernel.cmdline else {
        return false;
    };
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    match name {
        "isolcpus" => {
            let managed = cmdline
                .all("isolcpus")
                .any(|one| one.value.as_ref().is_some_and(|text| text.contains("managed_irq")));
            covers(boot_isolated) && (managed || !value.contains("managed_irq"))
        }
        "nohz_full" => covers(nohz_full),
        "rcu_nocbs" => covers(rcu_nocbs),
        // It has a run-time equivalent, so its absence alone is no reason to reboot.
        "irqaffinity" => irqaffinity.is_none() || covers(boot_isolated),
        _ => cmdline
            .last(name)
            .is_some_and(|one| one.value.as_deref().unwrap_or_default() == value),
    }
}

/// How the rest of the present boot line conflicts with the suggested words.
fn conflicts(scene: &PlanContext, line: &str, facts: &KernelFacts) -> Vec<Finding> {
    let Some(present) = &scene.machine.kernel.cmdline else {
        return Vec::new();
    };
    const OWN_PARAMETERS: &[&str] = &["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"];
    let remaining = present
        .parameters
        .iter()
        .filter(|one| !OWN_PARAMETERS.iter().any(|name| same_name(name, &one.name)));
    let mut merged: Vec<String> = remaining
        .map(|one| match &one.value {
            Some(value) if value.contains(' ') => format!("{}=\"{value}\"", one.name),
            Some(value) => format!("{}={value}", one.name),
            None => one.name.clone(),
        })
        .collect();
    merged.push(line.to_owned());
    lint(&merged.join(" "), facts)
        .findings
        .into_iter()
        .filter(|finding| finding.level == Level::Error)
        .map(|finding| Finding {
            id: FindingId::BOOT_LINE_CONFLICT,
            level: Level::Warning,
            message: format!("the present boot line prevents this: {}", finding.message),
            ..finding
        })
        .collect()
}
