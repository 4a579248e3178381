//! Reads the few threads that a plan mentions: kernel threads, and daemons that isolation must work with. With ten
//! thousand tasks, reading all of them takes longer than moving them.

use super::{Task, glance, read};
use root::Root;

/// The hierarchy of systemd, on v2 and on v1.
const SLICES: [&str; 3] = [
    "/sys/fs/cgroup/system.slice",
    "/sys/fs/cgroup/systemd/system.slice",
    "/sys/fs/cgroup/unified/system.slice",
];

/// Units of the daemons that distribute interrupts, tune, or start containers and virtual machines.
const UNITS: [&str; 6] = ["irqbalance", "tuned", "docker", "kubelet", "libvirtd", "virtqemud"];

/// The PID files of those that are started in other ways.
const WRITTEN: [&str; 5] = [
    "/run/irqbalance.pid",
    "/run/tuned/tuned.pid",
    "/run/docker.pid",
    "/run/libvirtd.pid",
    "/run/virtqemud.pid",
];

/// Kernel threads and those daemons, by number; `None` if the kernel does not list children.
pub(crate) fn read_planning_tasks(root: &Root) -> Option<Vec<Task>> {
    let mut tids = glance::kernel_threads(root)?;
    let sockets = root.readable_text("/proc/net/unix").unwrap_or_default();
    tids.extend(sockets.lines().filter_map(listener));
    for slice in SLICES {
        for unit in UNITS {
            let path = format!("{slice}/{unit}.service/cgroup.procs");
            let list = root.readable_text(&path).unwrap_or_default();
            tids.extend(list.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
    }
    for path in WRITTEN {
        let written = root.readable_value(path);
        tids.extend(written.and_then(|text| text.parse::<u32>().ok()));
    }
    tids.sort_unstable();
    tids.dedup();
    Some(tids.into_iter().filter_map(|tid| read::read_one(root, tid)).collect())
}

/// The process of a line in `/proc/net/unix` if it is irqbalance's: its socket is
/// `/run/irqbalance/irqbalance1234.sock`, or `@irqbalance1234.sock` if that directory does not exist.
fn listener(line: &str) -> Option<u32> {
    let name = line.rsplit(['/', '@', ' ']).next()?;
    name.strip_prefix("irqbalance")?.strip_suffix(".sock")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::listener;

    #[test]
    fn irqbalance_is_recognized_by_its_socket() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 20351 ";
        assert_eq!(
            listener(&format!("{line}/run/irqbalance//irqbalance812.sock")),
            Some(812)
        );
        assert_eq!(listener(&format!("{line}@irqbalance812.sock")), Some(812));
        assert_eq!(listener(&format!("{line}/run/dbus/system_bus_socket")), None);
        assert_eq!(
            listener("Num       RefCount Protocol Flags    Type St Inode Path"),
            None
        );
    }
}
