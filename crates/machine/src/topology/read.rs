//! Builds the topology from `/sys/devices/system/cpu` (`drivers/base/topology.c`), and from `/proc/cpuinfo` if the
//! kernel is too old for it.

use super::{CoreKind, Cpu, CpuInfo, Topology, caches, cpuinfo, hypervisor, nodes};
use crate::reading::RootReader;
use crate::{CpuId, CpuSet};

const CPUS: &str = "/sys/devices/system/cpu";

/// Reads CPUs, nodes and caches from `/sys/devices/system`.
pub(crate) fn read(reader: &RootReader) -> Topology {
    let info = cpuinfo::read(reader);
    let numbers = reader.numbered(CPUS, "cpu").unwrap_or_default();
    let listed: CpuSet = numbers
        .into_iter()
        .filter(|&cpu| cpu <= CpuSet::MAX_CPU)
        .map(CpuId)
        .collect();
    let possible = reader.list(&format!("{CPUS}/possible"));
    let present = reader.list(&format!("{CPUS}/present"));
    let online = read_online(reader, &info, &listed);
    // Some architectures have directories for CPUs that could be added, so these come last.
    let all = present.clone().unwrap_or(listed).or(&online);
    let mut cpus: Vec<Cpu> = all.iter().map(|id| read_cpu(reader, id, online.contains(id))).collect();
    fill_from_cpuinfo(&mut cpus, &info);
    let caches = caches::read(reader, &mut cpus);
    read_kinds(reader, &mut cpus);
    let nodes = nodes::read(reader, &mut cpus);
    Topology {
        possible,
        present,
        online,
        nodes,
        caches,
        // Linux gives number 0 to the CPU that it boots on (x86 and arm); the CPU keeps it when it goes offline.
        boot_cpu: all.contains(CpuId(0)).then_some(CpuId(0)),
        hypervisor: hypervisor::read(reader, &info),
        model_name: info.model_name,
        cpus,
    }
}

/// The kernel's list; before 2.6.26, the CPUs listed in `/proc`, without those reported as offline.
fn read_online(reader: &RootReader, info: &CpuInfo, listed: &CpuSet) -> CpuSet {
    if let Some(online) = reader.list(&format!("{CPUS}/online")) {
        return online;
    }
    let mut counted = CpuSet::new();
    reader.lines("/proc/stat", &mut |line| {
        let word = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        let number = word
            .strip_prefix(b"cpu")
            .and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(cpu) = number
            .and_then(|digits| digits.parse().ok())
            .filter(|&cpu| cpu <= CpuSet::MAX_CPU)
        {
            counted.insert(CpuId(cpu));
        }
    });
    let candidates = [counted, info.online(), listed.clone()]
        .into_iter()
        .find(|set| !set.is_empty());
    let is_off = |cpu: &CpuId| reader.value(&format!("{CPUS}/cpu{cpu}/online")).as_deref() == Some("0");
    candidates
        .unwrap_or_default()
        .iter()
        .filter(|cpu| !is_off(cpu))
        .collect()
}

fn read_cpu(reader: &RootReader, id: CpuId, online: bool) -> Cpu {
    let base = format!("{CPUS}/cpu{id}");
    let mut cpu = Cpu::new(id, online);
    cpu.max_khz = reader.number(&format!("{base}/cpufreq/cpuinfo_max_freq"));
    // The kernel removes the files of an offline CPU; any that are left in a capture are stale.
    if !online {
        return cpu;
    }
    let number = |name: &str| known_id(reader.number(&format!("{base}/topology/{name}")));
    let cpus = |names: [&str; 2]| {
        names.iter().find_map(|name| {
            let path = format!("{base}/topology/{name}");
            let set = reader.list_or_mask(&format!("{path}_list"), &path)?;
            // A set without the CPU itself is wrong data from the firmware or an old kernel.
            set.contains(id).then_some(set)
        })
    };
    cpu.package = number("physical_package_id");
    cpu.book = number("book_id");
    cpu.drawer = number("drawer_id");
    cpu.die = number("die_id");
    cpu.cluster = number("cluster_id");
    cpu.core = number("core_id");
    cpu.siblings = cpus(["core_cpus", "thread_siblings"]);
    cpu.package_cpus = cpus(["package_cpus", "core_siblings"]);
    cpu
}

/// -1 means "unknown", and some kernels print it as an unsigned number of 16 or 32 bits.
fn known_id(id: Option<i64>) -> Option<i64> {
    id.filter(|&id| id >= 0 && id != i64::from(u32::MAX) && id != i64::from(u16::MAX))
}

/// For kernels without `cpuN/topology`: `physical id` and `core id`, and from both the threads of a core.
fn fill_from_cpuinfo(cpus: &mut [Cpu], info: &CpuInfo) {
    if cpus
        .iter()
        .any(|cpu| cpu.package.is_some() || cpu.core.is_some() || cpu.siblings.is_some())
    {
        return;
    }
    let mut cores: std::collections::HashMap<(i64, i64), CpuSet> = std::collections::HashMap::new();
    for processor in &info.processors {
        if let (Some(package), Some(core)) = (processor.package, processor.core) {
            cores.entry((package, core)).or_default().insert(CpuId(processor.cpu));
        }
    }
    for processor in &info.processors {
        let Ok(place) = cpus.binary_search_by_key(&processor.cpu, |cpu| cpu.id.0) else {
            continue;
        };
        let Some(cpu) = cpus.get_mut(place) else { continue };
        cpu.package = processor.package;
        cpu.core = processor.core;
        if let (Some(package), Some(core)) = (processor.package, processor.core) {
            cpu.siblings = cores.get(&(package, core)).cloned();
        }
    }
}

/// Kinds of core: Intel has a counter unit for each kind, arm a capacity for each CPU. If neither exists, two base frequencies
/// decide, but only for CPUs that also differ in hardware: Xeons with "Speed Select" give equal cores two base frequencies.
fn read_kinds(reader: &RootReader, cpus: &mut [Cpu]) {
    let performance = reader.list("/sys/devices/cpu_core/cpus");
    let efficiency = reader.list("/sys/devices/cpu_atom/cpus");
    if performance.is_some() || efficiency.is_some() {
        for cpu in cpus {
            let is_in = |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| set.contains(cpu.id));
            cpu.kind = match (is_in(&performance), is_in(&efficiency)) {
                (true, false) => Some(CoreKind::Performance),
                (false, true) => Some(CoreKind::Efficiency),
                _ => None,
            };
        }
        return;
    }
    if set_kinds(cpus, |cpu| reader.number(&format!("{CPUS}/cpu{}/cpu_capacity", cpu.id))) {
        return;
    }
    let base_khz = |cpu: &Cpu| reader.number::<u64>(&format!("{CPUS}/cpu{}/cpufreq/base_frequency", cpu.id));
    let size = |set: &Option<CpuSet>| set.as_ref().map(CpuSet::len);
    let build = |cpu: &Cpu| (size(&cpu.siblings), size(&cpu.l2));
    let online = || cpus.iter().filter(|cpu| cpu.online);
    let mut base_of_build = std::collections::HashMap::new();
    let differ_in_build =
        online().all(|cpu| base_khz(cpu).is_some_and(|base| *base_of_build.entry(build(cpu)).or_insert(base) == base));
    if differ_in_build {
        set_kinds(cpus, base_khz);
    }
}

/// The CPUs with the highest number are the performance kind, if the numbers differ at all.
fn set_kinds(cpus: &mut [Cpu], number: impl Fn(&Cpu) -> Option<u64>) -> bool {
    let numbers: Vec<Option<u64>> = cpus.iter().map(number).collect();
    let known = || numbers.iter().flatten().copied();
    let (Some(highest), Some(lowest)) = (known().max(), known().min()) else {
        return false;
    };
    if highest == lowest {
        return false;
    }
    for (cpu, number) in cpus.iter_mut().zip(numbers) {
        let kind = |number| {
            if number == highest {
                CoreKind::Performance
            } else {
                CoreKind::Efficiency
            }
        };
        cpu.kind = number.map(kind);
    }
    true
}
