//! Describes the measured machine. It is stored with every result, because a result is meaningless without its machine.

use machine::{CpuSet, Machine, Preemption};
use root::{Origin, Root};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The properties of the machine that affect latencies. `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Version of this tool.
    pub tool_version: String,
    /// Kernel release.
    pub release: Option<String>,
    /// Preemption model.
    pub preemption: Option<Preemption>,
    /// The kernel command line.
    pub cmdline: Option<String>,
    /// The processor's name.
    pub model_name: Option<String>,
    /// The hypervisor, where the machine is a guest.
    pub hypervisor: Option<String>,
    /// Whether the processor is known to be emulated in software. Latencies are meaningless then.
    pub emulated: bool,
    /// The current clock source.
    pub clocksource: Option<String>,
    /// Online CPUs.
    pub online: CpuSet,
    /// CPUs excluded from the scheduler's domains at boot.
    pub boot_isolated: Option<CpuSet>,
    /// CPUs whose tick may stop.
    pub nohz_full: Option<CpuSet>,
    /// CPUs in cpuset partitions without load balancing.
    pub partitioned: Option<CpuSet>,
    /// Frequency governors in use, without duplicates; `None` where there is no frequency scaling.
    pub governor: Option<String>,
    /// Debug options of the kernel configuration; `None` if unknown.
    #[serde(default)]
    pub debug_options: Option<Vec<String>>,
    /// `kernel.sched_rt_runtime_us`; -1 is unlimited.
    pub sched_rt_runtime_us: Option<i64>,
}

impl Environment {
    /// Builds it from a machine and the few files that the model does not hold.
    ///
    /// Does not read `scaling_cur_freq`: the governor's name is kept in memory, but the frequency would be read on
    /// the CPU itself.
    #[must_use]
    pub fn of(machine: &Machine, root: &Root, tool_version: &str) -> Environment {
        let hypervisor = machine.topology.hypervisor.clone();
        Environment {
            tool_version: tool_version.to_owned(),
            release: machine.kernel.release.clone(),
            preemption: machine.kernel.preemption,
            cmdline: machine.kernel.cmdline.as_ref().map(|cmdline| cmdline.text.clone()),
            model_name: machine.topology.model_name.clone(),
            emulated: is_emulated(hypervisor.as_deref(), root),
            hypervisor,
            clocksource: machine.kernel.clocksource.clone(),
            online: machine.topology.online.clone(),
            boot_isolated: machine.isolation.boot_isolated.clone(),
            nohz_full: machine.isolation.nohz_full.clone(),
            partitioned: partitioned(machine),
            governor: governor(root),
            debug_options: debug_options(machine),
            sched_rt_runtime_us: machine.kernel.sched_rt_runtime_us,
        }
    }

    /// Major and minor number of the kernel.
    pub(crate) fn kernel_version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.as_deref()?.split(|letter: char| !letter.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

/// Options that make the kernel's code paths several times as long (`lib/Kconfig.debug`, `lib/Kconfig.k*san`). Options
/// that distributions enable without such a cost (KFENCE, DEBUG_INFO) are not listed.
const DEBUG_OPTIONS: &[&str] = &[
    "CONFIG_PROVE_LOCKING",
    "CONFIG_LOCKDEP",
    "CONFIG_LOCK_STAT",
    "CONFIG_DEBUG_LOCK_ALLOC",
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_DEBUG_KMEMLEAK",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "CONFIG_DEBUG_ATOMIC_SLEEP",
    "CONFIG_SLUB_DEBUG_ON",
];

fn debug_options(machine: &Machine) -> Option<Vec<String>> {
    let config = machine.kernel.config.as_ref()?;
    let set = DEBUG_OPTIONS
        .iter()
        .filter(|name| config.get(**name).is_some_and(|value| value == "y"));
    Some(set.map(|name| (*name).to_owned()).collect())
}

fn partitioned(machine: &Machine) -> Option<CpuSet> {
    machine.cgroups.cpuset.as_ref()?;
    let sets = machine.isolation.partitions.iter();
    let cpus = sets.filter_map(|set| set.effective_cpus.as_ref().or(set.cpus.as_ref()));
    Some(CpuSet::union(cpus))
}

fn governor(root: &Root) -> Option<String> {
    const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
    let names = root.readable_names(POLICIES)?;
    let governors: BTreeSet<String> = names
        .iter()
        .filter(|name| name.starts_with("policy"))
        .filter_map(|name| root.readable_value(&format!("{POLICIES}/{name}/scaling_governor")))
        .collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(","))
}

/// The model recognises the emulator by the names of its CPUs. Where QEMU's CPU has another name, QEMU still
/// identifies itself in the hypervisor leaf.
fn is_emulated(hypervisor: Option<&str>, root: &Root) -> bool {
    hypervisor == Some("tcg") || (root.origin() == Origin::Live && signature() == Some(*b"TCGTCGTCGTCG"))
}

#[cfg(target_arch = "x86_64")]
fn signature() -> Option<[u8; 12]> {
    use core::arch::x86_64::__cpuid;
    // Bit 31 of leaf 1, ECX: a hypervisor is present and provides leaf 0x4000_0000.
    if __cpuid(1).ecx & (1 << 31) == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let mut text = [0; 12];
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes);
    text.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    Some(text)
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<[u8; 12]> {
    None
}
