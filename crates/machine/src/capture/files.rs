//! Lists the files to capture. A command that reads a new file adds its pattern here; files of knobs are declared with them.

use crate::{Machine, Version, irqbalance};

/// What is kept of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentFilter {
    /// All of it.
    Nothing,
    /// Only the lines of a task's `status` that show where it may run: with 100,000 threads the rest is most of the archive.
    Status,
    /// Mounts of kernel file systems; the others are private.
    Mounts,
    /// Mounts of boot loaders' files.
    BootMounts,
    /// A text of a boot loader, without the lines of its passwords. For a file that is too large to be one, only the name.
    BootText,
    /// Assignments of irqbalance's variables; other lines of an environment file may be confidential.
    IrqbalanceVariables,
    /// Only the name, as an empty file.
    Name,
}

/// Maximum size of a boot loader's text, in bytes: larger files are programs.
pub(super) const MAX_BOOT_TEXT: u64 = 256 << 10;

/// Maximum size of an EFI variable, in bytes.
const MAX_BINARY: usize = 4 << 10;

/// Lower-case marks of password lines: GRUB's `password_pbkdf2` and `GRUB2_PASSWORD=`, syslinux' `MENU PASSWD`.
const SECRETS: [&str; 3] = ["password", "passwd", "pbkdf2"];

/// Whether a text contains a password.
pub(super) fn is_secret(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    SECRETS.iter().any(|word| text.contains(word))
}

impl ContentFilter {
    pub(super) fn apply(self, content: &mut Vec<u8>) {
        let keep: fn(&[u8]) -> bool = match self {
            ContentFilter::Nothing => return,
            ContentFilter::Name => return content.clear(),
            ContentFilter::BootText if content.contains(&0) && content.len() > MAX_BINARY => {
                return content.clear();
            }
            ContentFilter::BootText if content.contains(&0) => return,
            ContentFilter::BootText => |line| !is_secret(line),
            ContentFilter::BootMounts => |line| {
                let place = line.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
                BOOT_PLACES.contains(&place) || place.starts_with(b"/boot/")
            },
            ContentFilter::IrqbalanceVariables => |line| {
                let line = line.trim_ascii_start();
                let line = line.strip_prefix(b"export ").unwrap_or(line);
                line.trim_ascii_start().starts_with(b"IRQBALANCE_")
            },
            ContentFilter::Status => |line| STATUS_LINES.iter().any(|name| line.starts_with(name.as_bytes())),
            ContentFilter::Mounts => |line| {
                let mut words = line.split(|&byte| byte == b' ');
                words.any(|word| KERNEL_FILE_SYSTEMS.iter().any(|name| word == name.as_bytes()))
            },
        };
        let lines = content.split_inclusive(|&byte| byte == b'\n').filter(|line| keep(line));
        *content = lines.flatten().copied().collect();
    }
}

const BOOT_PLACES: [&[u8]; 4] = [b"/", b"/boot", b"/efi", b"/esp"];

const STATUS_LINES: [&str; 8] = [
    "Name:",
    "State:",
    "Tgid:",
    "Cpus_allowed:",
    "Cpus_allowed_list:",
    "Mems_allowed_list:",
    "voluntary_ctxt_switches:",
    "nonvoluntary_ctxt_switches:",
];

const KERNEL_FILE_SYSTEMS: [&str; 8] = [
    "cgroup",
    "cgroup2",
    "cpuset",
    "sysfs",
    "proc",
    "debugfs",
    "tracefs",
    "securityfs",
];

/// Files with paths that are the same on every machine, captured whole. See `Walk::each` for the notation.
const WHOLE: &[&str] = &[
    // The kernel.
    "/proc/{version,cmdline,cpuinfo,stat,interrupts,softirqs,schedstat,uptime,loadavg,meminfo}",
    "/proc/{cgroups,filesystems,devices,config.gz}",
    "/proc/self/cgroup",
    "/proc/sys/kernel/{osrelease,ostype,version,panic,threads-max,pid_max,arch}",
    "/proc/sys/kernel/{perf_event_paranoid,kptr_restrict,randomize_va_space,unprivileged_bpf_disabled,sysrq}",
    "/proc/sys/kernel/random/boot_id",
    "/sys/kernel/realtime",
    "/sys/kernel/security/lockdown",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/*",
    "/sys/kernel/debug/sched/{preempt,verbose,tunable_scaling,latency_*}",
    "/sys/kernel/debug/sched/domains/cpu*/domain*/{name,min_interval,flags}",
    "/sys/kernel/debug/irq/irqs/*",
    "/sys/module/{processor,kvm,nvme,nvme_core,pcie_aspm}/parameters/*",
    // CPUs. No `scaling_cur_freq` and the like: reading them wakes the CPU.
    "/sys/devices/system/cpu/{online,offline,possible,present,isolated,nohz_full,housekeeping,kernel_max}",
    "/sys/devices/system/cpu/smt/*",
    "/sys/devices/system/cpu/vulnerabilities/*",
    "/sys/devices/system/cpu/cpuidle/*",
    "/sys/devices/system/cpu/cpu*/{online,cpu_capacity,node*}",
    "/sys/devices/system/cpu/cpu*/topology/*",
    "/sys/devices/system/cpu/cpu*/cache/index*/{level,type,size,id,shared_cpu_list,shared_cpu_map}",
    "/sys/devices/system/cpu/cpu*/cpufreq/{cpuinfo_min_freq,cpuinfo_max_freq,base_frequency,\
         energy_performance_available_preferences}",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/{name,desc,residency,default_status}",
    "/sys/devices/system/cpu/cpu*/regs/identification/midr_el1",
    "/sys/devices/{cpu_core,cpu_atom}/cpus",
    "/sys/devices/system/node/{online,possible,has_cpu,has_memory,has_normal_memory}",
    "/sys/devices/system/node/node*/{cpulist,cpumap,distance,meminfo}",
    "/sys/devices/system/clocksource/clocksource0/{current_clocksource,available_clocksource}",
    // The hypervisor. No serial numbers and no identities.
    "/sys/hypervisor/type",
    "/sys/class/dmi/id/{sys_vendor,product_name,board_vendor,board_name,bios_vendor,bios_version}",
    "/proc/device-tree/{model,compatible}",
    "/proc/device-tree/hypervisor/compatible",
    // Interrupts.
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/{smp_affinity,smp_affinity_list,effective_affinity,effective_affinity_list,affinity_hint,node}",
    // Workqueues and devices that distribute work over CPUs.
    "/sys/devices/virtual/workqueue/{cpumask,cpumask_isolated,cpumask_requested}",
    "/sys/devices/virtual/workqueue/*/{nice,per_cpu,max_active}",
    "/sys/block/*/queue/nr_requests",
    "/sys/block/*/mq/*/cpu_list",
    "/sys/class/net/*/type",
    "/sys/class/net/*/device/{numa_node,local_cpulist}",
    // Components of volumes and bonds.
    "/sys/block/*/slaves/*/",
    "/sys/class/net/*/lower_*/",
    "/sys/bus/pci/devices/*/{class,vendor,device,numa_node,local_cpulist,driver,irq}",
    "/sys/bus/pci/devices/*/msi_irqs/*",
    "/sys/class/{infiniband,nvme,uio,vfio}/*/device/numa_node",
    // Tasks.
    "/proc/*/task/*/{stat,cgroup}",
    "/proc/1/comm",
    // Other managers of the machine, and its intended use.
    "/run/systemd/system/",
    "/etc/quietcore.toml",
    "/etc/tuned/{active_profile,*-variables.conf}",
    "/var/lib/kubelet/cpu_manager_state",
    "/etc/{default,sysconfig}/irqbalance",
    "/etc/irqbalance.env",
];

/// The same, of which a part is kept.
const TRIMMED: &[(&str, ContentFilter)] = &[
    ("/proc/self/mountinfo", ContentFilter::Mounts),
    ("/proc/self/status", ContentFilter::Status),
    ("/proc/*/task/*/status", ContentFilter::Status),
];

/// How the files that match a pattern are captured.
pub(super) struct Pattern {
    pub(super) path: String,
    pub(super) trim: ContentFilter,
}

/// All patterns for a machine: the fixed ones, and those that depend on the location of its cgroups and its configuration.
pub(super) fn patterns(machine: &Machine) -> Vec<Pattern> {
    let plain = |path: String| Pattern {
        path,
        trim: ContentFilter::Nothing,
    };
    let whole = WHOLE.iter().chain(crate::settings::OTHERS);
    let mut patterns: Vec<Pattern> = whole.map(|path| plain((*path).to_owned())).collect();
    patterns.extend(TRIMMED.iter().map(|&(path, trim)| Pattern {
        path: path.to_owned(),
        trim,
    }));
    if let Some(release) = &machine.kernel.release {
        patterns.push(plain(format!("/boot/config-{release}")));
    }
    // A profile of TuneD may include files with any name.
    let profiles = machine.tuned.iter().flat_map(|tuned| &tuned.files);
    patterns.extend(profiles.cloned().map(plain));
    for (version, mount, _) in &machine.cgroups.mounts {
        // The names show what manages the tree.
        patterns.push(plain(format!("{mount}/*/")));
        patterns.push(plain(format!("{mount}/system.slice/*/")));
        if *version == Version::V2 {
            patterns.push(plain(format!("{mount}/{{cgroup.controllers,cgroup.subtree_control}}")));
        }
    }
    if let Some(tree) = &machine.cgroups.cpuset {
        let own = match tree.prefix.as_str() {
            "" => "cpus,mems,cpu_exclusive,mem_exclusive,mem_hardwall,effective_cpus,effective_mems,\
                   sched_load_balance,sched_relax_domain_level,memory_migrate"
                .to_owned(),
            prefix => format!("{prefix}*"),
        };
        for set in &tree.sets {
            let dir = tree.dir(&set.name);
            patterns.push(plain(format!(
                "{dir}/{{{own},cgroup.controllers,cgroup.subtree_control,cgroup.type,cgroup.clone_children}}"
            )));
        }
    }
    patterns
}

/// The startup configuration of irqbalance: its unit, the environment files that it names, and the running daemon's
/// command line.
pub(super) fn of_irqbalance(machine: &Machine, environment: Vec<String>) -> Vec<Pattern> {
    let pattern = |trim| move |path| Pattern { path, trim };
    let daemon = machine.irqbalance().map(|daemon| irqbalance::command_line(daemon.pid));
    let whole = irqbalance::unit_patterns().chain(daemon);
    let mut patterns: Vec<Pattern> = whole.map(pattern(ContentFilter::Nothing)).collect();
    patterns.extend(environment.into_iter().map(pattern(ContentFilter::IrqbalanceVariables)));
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_parts_of_captured_files_are_trimmed() {
        let check = |trim: ContentFilter, text: &str, expected: &str| {
            let mut content = text.as_bytes().to_vec();
            trim.apply(&mut content);
            assert_eq!(String::from_utf8_lossy(&content), expected);
        };
        check(ContentFilter::Nothing, "a\nb", "a\nb");
        check(
            ContentFilter::Status,
            "Name:\tx\nVmPeak:\t1\nCpus_allowed_list:\t0-1",
            "Name:\tx\nCpus_allowed_list:\t0-1",
        );
        check(ContentFilter::Name, "a\nb", "");
        check(
            ContentFilter::IrqbalanceVariables,
            "PROXY=x\n export IRQBALANCE_BANNED_CPULIST=1\nIRQBALANCE_ARGS=-j\n#IRQBALANCE_X=\n",
            " export IRQBALANCE_BANNED_CPULIST=1\nIRQBALANCE_ARGS=-j\n",
        );
        check(
            ContentFilter::BootText,
            "set timeout=5\n  Password_pbkdf2 root grub.pbkdf2.sha512.1\nGRUB2_PASSWORD=x\nmenuentry a {\n",
            "set timeout=5\nmenuentry a {\n",
        );
        check(
            ContentFilter::BootMounts,
            "/dev/a / ext4 rw 0 0\n/dev/b /home ext4 rw 0 0\n/dev/c /boot/efi vfat rw 0 0\n/dev/d /efi vfat rw 0 0\n",
            "/dev/a / ext4 rw 0 0\n/dev/c /boot/efi vfat rw 0 0\n/dev/d /efi vfat rw 0 0\n",
        );
        let mut program = vec![0; MAX_BINARY + 1];
        ContentFilter::BootText.apply(&mut program);
        assert!(program.is_empty(), "of a program the name alone");
        check(
            ContentFilter::Mounts,
            "1 2 0:3 / /home rw - ext4 /dev/sda rw\n4 5 0:6 / /c rw - cgroup cgroup rw,cpuset\n",
            "4 5 0:6 / /c rw - cgroup cgroup rw,cpuset\n",
        );
    }
}
