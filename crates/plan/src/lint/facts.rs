//! Defines what a boot line is checked against: a kernel and its machine, as far as they are known.
//!
//! Every fact may be unknown. A rule that needs an unknown fact reports that at level `info`; it never guesses.

use machine::kernel::parse_version;
use machine::{CpuId, CpuSet, Machine, Preemption};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A kernel and its machine, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct KernelFacts {
    /// Release as `uname -r` prints it.
    pub release: Option<String>,
    /// Its first two numbers.
    pub version: Option<(u32, u32)>,
    /// Configuration options that are set. An option without entry is not set.
    pub config: Option<Arc<BTreeMap<String, String>>>,
    /// Whether it is a `PREEMPT_RT` kernel.
    pub realtime: Option<bool>,
    /// CPUs that could ever exist.
    pub possible: Option<CpuSet>,
    /// The CPU that the kernel boots on.
    pub boot_cpu: Option<CpuId>,
    /// Threads of each core with more than one thread online; empty without SMT, or if unknown.
    pub cores: Vec<CpuSet>,
    /// Whether there are interrupts whose mask the kernel manages itself.
    pub managed_interrupts: Option<bool>,
    /// Whether a sched_ext scheduler runs now.
    pub sched_ext: Option<bool>,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// The result of this line on this kernel; `None` for any other line or kernel.
    pub outcome: Option<ObservedBoot>,
}

/// What a kernel booted with the line reported about it, and did.
#[derive(Clone, Debug, Default)]
pub struct ObservedBoot {
    /// Its messages about the boot line; `None` if they could not be read or were overwritten.
    pub messages: Option<Vec<String>>,
    /// `/sys/devices/system/cpu/isolated`.
    pub isolated: Option<CpuSet>,
    /// `/sys/devices/system/cpu/nohz_full`.
    pub nohz_full: Option<CpuSet>,
}

impl KernelFacts {
    /// Facts from a kernel release alone; `None` for text that does not start with two numbers, such as `6.12`.
    #[must_use]
    pub fn of_release(release: &str) -> Option<KernelFacts> {
        let version = parse_version(release)?;
        let realtime = release
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|part| {
                let digits = part.trim_start_matches("rt");
                part.starts_with("rt") && digits.bytes().all(|byte| byte.is_ascii_digit()) || part == "realtime"
            });
        Some(KernelFacts {
            release: Some(release.to_owned()),
            version: Some(version),
            realtime: realtime.then_some(true),
            ..KernelFacts::default()
        })
    }

    /// Facts of a machine, live or captured.
    #[must_use]
    pub fn of_machine(machine: &Machine) -> KernelFacts {
        let kernel = &machine.kernel;
        let topology = &machine.topology;
        let mut cores: Vec<CpuSet> = topology
            .cpus
            .iter()
            .filter_map(|cpu| cpu.siblings.clone())
            .filter(|siblings| siblings.len() > 1)
            .collect();
        cores.sort_unstable();
        cores.dedup();
        let managed = machine
            .interrupts
            .as_ref()
            .map(|interrupts| interrupts.iter().any(|interrupt| interrupt.managed == Some(true)));
        KernelFacts {
            release: kernel.release.clone(),
            version: kernel.version,
            config: kernel.config.clone(),
            realtime: kernel.preemption.map(|model| model == Preemption::Rt),
            possible: topology.possible.clone(),
            boot_cpu: topology.boot_cpu,
            cores,
            // A kernel that does not report which interrupts it manages may still have some.
            managed_interrupts: managed.filter(|&found| found),
            sched_ext: None,
            clocksource: kernel.clocksource.clone(),
            outcome: None,
        }
    }

    /// The same facts without those about a kernel: then only what is wrong for every kernel is an error.
    #[must_use]
    pub fn of_any_kernel(&self) -> KernelFacts {
        KernelFacts {
            possible: self.possible.clone(),
            boot_cpu: self.boot_cpu,
            cores: self.cores.clone(),
            ..KernelFacts::default()
        }
    }

    /// Adds a configuration, which also determines whether the kernel is real-time.
    #[must_use]
    pub fn with_config(mut self, config: BTreeMap<String, String>) -> KernelFacts {
        let is_set = |option: &str| config.contains_key(option);
        self.realtime = Some(is_set("CONFIG_PREEMPT_RT") || is_set("CONFIG_PREEMPT_RT_FULL"));
        self.config = Some(Arc::new(config));
        self
    }

    /// Whether the kernel has at least the features of this version; `None` if unknown, also for old version numbers of
    /// distributions that backport features.
    #[must_use]
    pub fn since(&self, version: (u32, u32)) -> Option<bool> {
        machine::kernel::since(self.release.as_deref(), self.version, version)
    }

    /// Whether a configuration option is set; `None` without a configuration.
    #[must_use]
    pub fn has(&self, option: &str) -> Option<bool> {
        self.config.as_ref().map(|config| config.contains_key(option))
    }

    /// The CPU that the kernel boots on: 0 if unknown.
    #[must_use]
    pub fn boot_cpu(&self) -> CpuId {
        self.boot_cpu.unwrap_or(CpuId(0))
    }

    /// Maximum length of a boot line in bytes (`COMMAND_LINE_SIZE`): 2048 on x86 and arm64, 1024 on arm.
    #[must_use]
    pub fn line_limit(&self) -> usize {
        if self.has("CONFIG_ARM") == Some(true) {
            1024
        } else {
            2048
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_derived_from_kernel_releases() {
        let facts = |release| KernelFacts::of_release(release).unwrap();
        assert_eq!(facts("6.12.117+deb13-rt-amd64").realtime, Some(true));
        assert_eq!(facts("5.10.90-rt60").realtime, Some(true));
        assert_eq!(facts("6.8.1-1015-realtime").realtime, Some(true));
        assert_eq!(facts("6.1.0-56-amd64").realtime, None);
        assert_eq!(facts("6.1.0-start").realtime, None);
        assert_eq!(facts("4.18.0-553.el8.x86_64").since((5, 6)), None);
        assert_eq!(facts("4.18.0-25-generic").since((5, 6)), Some(false));
        assert_eq!(facts("7.2").since((5, 6)), Some(true));
        assert!(KernelFacts::of_release("banana").is_none() && KernelFacts::of_release("6").is_none());
        assert_eq!(KernelFacts::default().since((5, 6)), None);
    }
}
