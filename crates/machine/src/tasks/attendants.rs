//! The few threads that a plan says something about: kernel threads, and daemons that isolation has to get along with.
//! With ten thousand tasks, reading all of them takes longer than moving them.

use super::{Task, glance, read};
use root::Root;

/// Units of irqbalance: the list of its processes in the hierarchy of systemd, on v2 and on v1.
const UNITS: &[&str] = &[
    "/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs",
    "/sys/fs/cgroup/systemd/system.slice/irqbalance.service/cgroup.procs",
    "/sys/fs/cgroup/unified/system.slice/irqbalance.service/cgroup.procs",
];

/// Kernel threads and irqbalance, by number; `None` where the kernel does not list children.
pub(crate) fn read_attendants(root: &Root) -> Option<Vec<Task>> {
    let mut tids = glance::kernel_threads(root)?;
    let sockets = root.text("/proc/net/unix").ok().flatten().unwrap_or_default();
    tids.extend(sockets.lines().filter_map(listener));
    for path in UNITS {
        let list = root.text(path).ok().flatten().unwrap_or_default();
        tids.extend(list.lines().filter_map(|line| line.parse::<u32>().ok()));
    }
    let written = root.value("/run/irqbalance.pid").ok().flatten();
    tids.extend(written.and_then(|text| text.parse::<u32>().ok()));
    tids.sort_unstable();
    tids.dedup();
    Some(
        tids.into_iter()
            .filter_map(|tid| read::read_one(root, tid))
            .collect(),
    )
}

/// The process behind a line of `/proc/net/unix`, when it is irqbalance's: its socket is
/// `/run/irqbalance/irqbalance1234.sock`, or `@irqbalance1234.sock` where there is no such directory.
fn listener(line: &str) -> Option<u32> {
    let name = line.rsplit(['/', '@', ' ']).next()?;
    name.strip_prefix("irqbalance")?
        .strip_suffix(".sock")?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::listener;

    #[test]
    fn irqbalance_is_known_by_its_socket() {
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
