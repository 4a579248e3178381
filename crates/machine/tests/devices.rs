//! Where devices are, and that a snapshot still tells it.
#![allow(clippy::unwrap_used)]

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
    assert_eq!(nodes_with_devices(root), [1]);
}

#[test]
fn near_what() {
    let dir = tempfile::tempdir().unwrap();
    made(dir.path());
    let root = Root::open(dir.path()).unwrap();
    check(&root);
    let archive = dir.path().join("snapshot.tar");
    capture::capture(&root, &archive, "test").unwrap();
    check(&Root::open(&archive).unwrap());
}

#[test]
fn settings_of_a_snapshot_are_those_of_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("now.tar");
    let live = Root::live();
    capture::capture(&live, &archive, "test").unwrap();
    let names = |root: &Root| settings::read(root).values.into_keys().collect::<Vec<_>>();
    let now = names(&live);
    assert!(now.len() > 20, "{now:?}");
    assert_eq!(names(&Root::open(&archive).unwrap()), now);
}
