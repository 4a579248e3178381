//! The NUMA nodes of devices, on a machine and in its snapshot.

use machine::devices::{Locality, locate, nodes_with_devices};
use machine::{capture, settings};
use root::Root;
use std::path::Path;

const PCI: &str = "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0";

fn made(dir: &Path) {
    let file = |path: &str, text: &str| {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    };
    let link = |path: &str, target: &str| {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    };
    file("proc/version", "Linux version 6.12.0 (x)");
    file(&format!("{PCI}/numa_node"), "1");
    file(&format!("{PCI}/local_cpulist"), "4-7");
    file(&format!("{PCI}/net/eth0/type"), "1");
    file(&format!("{PCI}/nvme/nvme0/nvme0n1/queue/rq_affinity"), "1");
    file("sys/devices/pci0000:3a/0000:3a:01.0/numa_node", "-1");
    file("sys/devices/virtual/net/lo/type", "772");
    link(
        "sys/bus/pci/devices/0000:3b:00.0",
        "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0",
    );
    link(
        "sys/bus/pci/devices/0000:3a:01.0",
        "../../../devices/pci0000:3a/0000:3a:01.0",
    );
    link(
        "sys/class/net/eth0",
        "../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/eth0",
    );
    link("sys/class/net/lo", "../../devices/virtual/net/lo");
    file("sys/devices/virtual/net/bond0/type", "1");
    link("sys/class/net/bond0", "../../devices/virtual/net/bond0");
    link(
        "sys/devices/virtual/net/bond0/lower_eth0",
        "../../../pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/eth0",
    );
    // One volume is on a RAID of a disk near node 1. The other is on that disk and a disk near node 0.
    file("sys/devices/pci0000:00/0000:00:02.0/numa_node", "0");
    file("sys/devices/pci0000:00/0000:00:02.0/local_cpulist", "0-3");
    file("sys/devices/pci0000:00/0000:00:02.0/block/sda/queue/rq_affinity", "1");
    link(
        "sys/bus/pci/devices/0000:00:02.0",
        "../../../devices/pci0000:00/0000:00:02.0",
    );
    link("sys/block/sda", "../devices/pci0000:00/0000:00:02.0/block/sda");
    for (name, slaves) in [("md0", &["nvme0n1"][..]), ("dm-0", &["md0"]), ("dm-1", &["md0", "sda"])] {
        file(&format!("sys/devices/virtual/block/{name}/queue/rq_affinity"), "1");
        link(
            &format!("sys/block/{name}"),
            &format!("../devices/virtual/block/{name}"),
        );
        for slave in slaves {
            let target = match *slave {
                "nvme0n1" => "../../../../pci0000:3a/0000:3a:00.0/0000:3b:00.0/nvme/nvme0/nvme0n1",
                "sda" => "../../../../pci0000:00/0000:00:02.0/block/sda",
                _ => "../../md0",
            };
            link(&format!("sys/devices/virtual/block/{name}/slaves/{slave}"), target);
        }
    }
    link(
        "sys/block/nvme0n1",
        "../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/nvme/nvme0/nvme0n1",
    );
}

fn check(root: &Root) {
    let place = |name: &str| {
        let found: Locality = locate(root, name).unwrap_or_else(|error| panic!("{error}"));
        let cpus = found.cpus.map(|cpus| cpus.to_string());
        (found.node, cpus, found.is_virtual)
    };
    let near = (Some(1), Some("4-7".to_owned()), false);
    let names = [
        "eth0",
        "nvme0n1",
        "0000:3b:00.0",
        "3b:00.0",
        "3B:00.0",
        "/dev/nvme0n1",
        "/sys/class/net/eth0",
    ];
    for name in names {
        assert_eq!(place(name), near, "{name}");
    }
    assert_eq!(place("0000:3a:01.0"), (None, None, false), "-1 is unknown");
    assert_eq!(place("lo"), (None, None, true));
    for name in ["bond0", "md0", "/dev/dm-0"] {
        assert_eq!(place(name), (Some(1), Some("4-7".to_owned()), true), "{name}");
    }
    assert_eq!(place("dm-1"), (None, Some("0-7".to_owned()), true), "on two nodes");
    let parts = locate(root, "dm-1").unwrap().parts;
    assert_eq!(parts, ["md0", "sda"]);
    for name in [
        "eth1",
        "",
        ".",
        "..",
        "../sys",
        "a/b",
        "/etc/passwd",
        "/sys/../etc",
        "00:00.9",
        "\u{0}",
    ] {
        assert!(locate(root, name).is_err(), "{name:?}");
    }
    assert_eq!(nodes_with_devices(root), [0, 1]);
}

#[test]
fn devices_and_paths_have_near_cpus_also_in_a_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    let root = Root::open(dir.path()).unwrap();
    check(&root);
    let archive = dir.path().join("snapshot.tar");
    capture::capture(&root, &archive, "test", &[]).unwrap();
    check(&Root::open(&archive).unwrap());
}

#[test]
fn paths_are_near_the_cpus_of_their_disk() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    let at = |path: &str| dir.path().join(path);
    std::fs::create_dir_all(at("srv/data")).unwrap();
    std::fs::create_dir_all(at("mnt/tree")).unwrap();
    std::fs::create_dir_all(at("sys/dev/block")).unwrap();
    std::fs::create_dir_all(at("proc/self")).unwrap();
    std::fs::create_dir_all(at("dev/mapper")).unwrap();
    std::fs::write(at("dev/dm-0"), "").unwrap();
    let link = |path: &str, target: &str| std::os::unix::fs::symlink(target, at(path)).unwrap();
    link("sys/dev/block/259:0", "../../block/nvme0n1");
    link("dev/mapper/vg-data", "../dm-0");
    link("data", "srv/data");
    let mounts = "1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 259:0 / /srv rw - xfs /dev/nvme0n1 rw\n\
                  3 1 0:40 / /mnt rw - btrfs /dev/mapper/vg-data rw\n4 1 0:41 / /proc rw - proc proc rw\n";
    std::fs::write(at("proc/self/mountinfo"), mounts).unwrap();
    let root = Root::open(dir.path()).unwrap();
    let node = |path: &str| locate(&root, path).map(|found| found.node).map_err(|error| error.why);
    for path in ["/srv/data", "/srv", "/data", "/mnt/tree", "/dev/mapper/vg-data"] {
        assert_eq!(node(path), Ok(Some(1)), "{path}");
    }
    assert!(node("/proc/version").unwrap_err().contains("proc on /proc"));
    assert!(node("/nowhere").unwrap_err().contains("no such file"));
    // The disk of the root file system is not in this tree.
    assert!(node("/dev/../srv").is_err());
}

#[test]
fn a_snapshot_contains_the_kernel_messages_about_its_boot_line() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    std::fs::create_dir_all(dir.path().join("var/log")).unwrap();
    let message =
        "[    0.0] Linux version 6.12\n[    0.1] Housekeeping: nohz unsupported.\n[    9.0] usb: a serial number\n";
    std::fs::write(dir.path().join("var/log/dmesg"), message).unwrap();
    let archive = dir.path().join("snapshot.tar");
    capture::capture(&Root::open(dir.path()).unwrap(), &archive, "test", &[]).unwrap();
    let log = Root::open(&archive).unwrap().kernel_log().unwrap().unwrap();
    assert_eq!(log, ["Linux version 6.12", "Housekeeping: nohz unsupported."]);
}

#[test]
fn a_snapshot_has_the_settings_of_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("now.tar");
    let live = Root::live();
    capture::capture(&live, &archive, "test", &[]).unwrap();
    let names = |root: &Root| {
        settings::read(root, std::iter::empty())
            .values
            .into_keys()
            .collect::<Vec<_>>()
    };
    let now = names(&live);
    assert!(now.len() > 20, "{now:?}");
    assert_eq!(names(&Root::open(&archive).unwrap()), now);
}

/// Reading one of the two files while both detectors are off changes the state of the kernel.
#[test]
fn files_that_change_the_kernel_when_read_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = dir.path().join("proc/sys/kernel");
    std::fs::create_dir_all(&kernel).unwrap();
    std::fs::create_dir(dir.path().join("sys")).unwrap();
    for name in ["watchdog", "soft_watchdog", "watchdog_thresh", "watchdog_cpumask"] {
        std::fs::write(kernel.join(name), "1\n").unwrap();
    }
    let root = Root::open(dir.path()).unwrap();
    let read: Vec<String> = settings::read(&root, std::iter::empty()).values.into_keys().collect();
    let expected = ["watchdog_cpumask", "watchdog_thresh"].map(|name| format!("/proc/sys/kernel/{name}"));
    assert_eq!(read, expected);
}
