//! Describes the machine that QEMU emulates.

use crate::disk::Disk;
use crate::kernels::LabKernel;
use crate::packages::Packages;

/// How cgroups are mounted in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupLayout {
    /// The v1 cpuset controller at `/sys/fs/cgroup/cpuset`.
    V1,
    /// cgroup v2 at `/sys/fs/cgroup`.
    V2,
    /// v1 cpuset, and v2 without it at `/sys/fs/cgroup/unified`.
    Hybrid,
    /// Nothing is mounted.
    None,
}

impl CgroupLayout {
    /// Its name in the guest's kernel argument and in the report.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CgroupLayout::V1 => "v1",
            CgroupLayout::V2 => "v2",
            CgroupLayout::Hybrid => "hybrid",
            CgroupLayout::None => "none",
        }
    }
}

/// Sizes and devices of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestShape {
    /// Shown in the report; empty for the usual shape.
    pub name: &'static str,
    /// Number of packages.
    pub sockets: u32,
    /// Number of dies per package.
    pub dies: u32,
    /// Number of cores per die.
    pub cores: u32,
    /// Number of hardware threads per core.
    pub threads: u32,
    /// NUMA nodes, as CPU lists.
    pub nodes: &'static [&'static str],
    /// Memory, MiB.
    pub memory_mib: u32,
    /// Kernel modules to load (see [`crate::unpack`]) for the devices.
    pub modules: &'static [&'static str],
    /// Modules that the scenario loads itself, by `load_later`.
    pub later: &'static [&'static str],
    /// QEMU arguments of the devices.
    pub devices: &'static [&'static str],
    /// Additional kernel parameters.
    pub boot: &'static str,
    /// Debian programs that the guest has in addition to ours.
    pub packages: Option<&'static Packages>,
    /// Packages of quietcore that the guest has in `/root`: names of files in [`crate::initramfs::HostPrograms::debs`].
    pub debs: &'static [&'static str],
    /// The disk from which the guest boots, after a first guest has installed itself there. `None`: QEMU loads the
    /// kernel.
    pub disk: Option<&'static Disk>,
    /// Another kernel that is installed on that disk.
    pub beside: Option<LabKernel>,
}

/// 4 CPUs in 2 packages, each with its own last-level cache.
pub const USUAL: GuestShape = GuestShape {
    name: "",
    sockets: 2,
    dies: 1,
    cores: 2,
    threads: 1,
    nodes: &[],
    memory_mib: 256,
    modules: &[],
    later: &[],
    devices: &[],
    boot: "",
    packages: None,
    debs: &[],
    disk: None,
    beside: None,
};

impl GuestShape {
    /// Number of CPUs.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.sockets * self.dies * self.cores * self.threads
    }

    /// The QEMU arguments for this machine.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "-smp".to_owned(),
            format!(
                "{},sockets={},dies={},cores={},threads={}",
                self.cpus(),
                self.sockets,
                self.dies,
                self.cores,
                self.threads
            ),
            "-m".to_owned(),
            format!("{}M", self.memory_mib),
        ];
        let share = self.memory_mib / u32::try_from(self.nodes.len().max(1)).unwrap_or(1);
        for (node, cpus) in self.nodes.iter().enumerate() {
            arguments.push("-object".to_owned());
            arguments.push(format!("memory-backend-ram,id=m{node},size={share}M"));
            arguments.push("-numa".to_owned());
            arguments.push(format!("node,nodeid={node},cpus={cpus},memdev=m{node}"));
        }
        arguments.extend(self.devices.iter().map(|argument| (*argument).to_owned()));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_becomes_qemu_arguments() {
        let shape = GuestShape {
            dies: 2,
            threads: 2,
            nodes: &["0-7", "8-15"],
            memory_mib: 512,
            ..USUAL
        };
        let arguments = shape.arguments().join(" ");
        assert!(
            arguments.starts_with("-smp 16,sockets=2,dies=2,cores=2,threads=2 -m 512M"),
            "{arguments}"
        );
        assert!(
            arguments.contains("id=m1,size=256M -numa node,nodeid=1,cpus=8-15,memdev=m1"),
            "{arguments}"
        );
    }
}
