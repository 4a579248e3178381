//! Captured machines of other people, if the collection is available. The expected facts were counted from the files by
//! other programs, not by the code under test.

use machine::{CoreKind, CpuId, Machine, Topology};
use root::Root;
use std::path::{Path, PathBuf};

/// The known facts about a machine. Data caches are `(level, count, maximum number of CPUs that share one)`.
struct Facts {
    online: &'static str,
    offline: &'static str,
    packages: usize,
    cores: usize,
    threads_per_core: usize,
    caches: &'static [(u32, usize, usize)],
    nodes: &'static [u32],
    model: Option<&'static str>,
}

const MACHINES: &[(&str, Facts)] = &[
    (
        "128arm-2pa2n8cluster4co",
        Facts {
            online: "0-127",
            offline: "",
            packages: 2,
            cores: 128,
            threads_per_core: 1,
            caches: &[(1, 128, 1), (2, 128, 1), (3, 4, 32)],
            nodes: &[0, 1, 2, 3],
            model: None,
        },
    ),
    (
        "16amd64-8n2c-cpusets",
        Facts {
            online: "0-3,5-15",
            offline: "4",
            packages: 9,
            cores: 16,
            threads_per_core: 1,
            caches: &[(1, 15, 1), (2, 15, 1)],
            nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
            model: Some("Dual Core AMD Opteron(tm) Processor 865"),
        },
    ),
    (
        "16em64t-4s2c2t-offlines",
        Facts {
            online: "0-1,3-4,6-12,15",
            offline: "2,5,13-14",
            packages: 5,
            cores: 11,
            threads_per_core: 2,
            caches: &[(1, 7, 2), (2, 7, 2), (3, 4, 4)],
            nodes: &[0],
            model: Some("Intel(R) Xeon(TM) CPU 2.60GHz"),
        },
    ),
    (
        "16em64t-4s2c2t",
        Facts {
            online: "0-15",
            offline: "",
            packages: 4,
            cores: 8,
            threads_per_core: 2,
            caches: &[(1, 8, 2), (2, 8, 2), (3, 4, 4)],
            nodes: &[0],
            model: Some("Intel(R) Xeon(TM) CPU 2.60GHz"),
        },
    ),
    (
        "16em64t-4s2ca2c-cpusetreorder",
        Facts {
            online: "0-15",
            offline: "",
            packages: 4,
            cores: 16,
            threads_per_core: 1,
            caches: &[(1, 16, 1), (2, 8, 2), (3, 4, 4)],
            nodes: &[0],
            model: Some("Intel(R) Xeon(TM) CPU 2.60GHz"),
        },
    ),
    (
        "20em64t-hybrid-1p6c2t+2ca4co1t",
        Facts {
            online: "0-19",
            offline: "",
            packages: 1,
            cores: 14,
            threads_per_core: 2,
            caches: &[(1, 14, 2), (2, 8, 4), (3, 1, 20)],
            nodes: &[0],
            model: Some("13th Gen Intel(R) Core(TM) i7-1370P"),
        },
    ),
    (
        "20s390-2g6s4c",
        Facts {
            online: "0-19",
            offline: "",
            packages: 8,
            cores: 20,
            threads_per_core: 1,
            caches: &[],
            nodes: &[],
            model: None,
        },
    ),
    (
        "256ppc-8n8s4t",
        Facts {
            online: "0-255",
            offline: "",
            packages: 1,
            cores: 64,
            threads_per_core: 4,
            caches: &[(1, 64, 4), (2, 64, 4), (3, 64, 4)],
            nodes: &[0, 1, 4, 5, 8, 9, 12, 13],
            model: Some("POWER7 (architected), altivec supported"),
        },
    ),
    (
        "2arm-2c",
        Facts {
            online: "0-1",
            offline: "",
            packages: 1,
            cores: 2,
            threads_per_core: 1,
            caches: &[],
            nodes: &[],
            model: Some("ARMv7 Processor rev 1 (v7l)"),
        },
    ),
    (
        "32intel64-2p8co2t+8ve",
        Facts {
            online: "0-31",
            offline: "",
            packages: 2,
            cores: 16,
            threads_per_core: 2,
            caches: &[(1, 16, 2), (2, 16, 2), (3, 2, 16)],
            nodes: &[0, 1],
            model: Some("Intel(R) Xeon(R) Silver 4108 CPU @ 1.80GHz"),
        },
    ),
    (
        "40intel64-2g2n4c+pcilocality",
        Facts {
            online: "0-39",
            offline: "",
            packages: 4,
            cores: 40,
            threads_per_core: 1,
            caches: &[(1, 40, 1), (2, 40, 1), (3, 4, 10)],
            nodes: &[0, 1, 2, 3],
            model: Some("Intel(R) Xeon(R) CPU E7- 4870  @ 2.40GHz"),
        },
    ),
    (
        "48amd64-4pa2n6c-sparse",
        Facts {
            online: "0-47",
            offline: "",
            packages: 4,
            cores: 48,
            threads_per_core: 1,
            caches: &[(1, 48, 1), (2, 48, 1), (3, 8, 6)],
            nodes: &[0, 1, 2, 33, 34, 45, 72, 73],
            model: Some("AMD Engineering Sample"),
        },
    ),
    (
        "64amd64-4s2n4ca2co",
        Facts {
            online: "0-63",
            offline: "",
            packages: 4,
            cores: 32,
            threads_per_core: 2,
            caches: &[(1, 64, 1), (2, 64, 1), (3, 8, 8)],
            nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
            model: Some("AMD Opteron(TM) Processor 6276"),
        },
    ),
    (
        "8em64t-2s2ca2c-buggynuma",
        Facts {
            online: "0-7",
            offline: "",
            packages: 2,
            cores: 8,
            threads_per_core: 1,
            caches: &[(1, 8, 1), (2, 4, 2)],
            nodes: &[0, 1, 2, 3, 4, 5, 6, 7],
            model: Some("Intel(R) Xeon(R) CPU           E5472  @ 3.00GHz"),
        },
    ),
    (
        "8em64t-2s2ca2c",
        Facts {
            online: "0-7",
            offline: "",
            packages: 2,
            cores: 8,
            threads_per_core: 1,
            caches: &[(1, 8, 1), (2, 4, 2)],
            nodes: &[0],
            model: Some("Intel(R) Xeon(R) CPU           E5345  @ 2.33GHz"),
        },
    ),
    (
        "96em64t-4no4pa3ca2co",
        Facts {
            online: "0-95",
            offline: "",
            packages: 16,
            cores: 96,
            threads_per_core: 1,
            caches: &[(1, 96, 1), (2, 48, 2), (3, 16, 6)],
            nodes: &[0, 1, 2, 3],
            model: Some("Genuine Intel(R) CPU                  @ 2.66GHz"),
        },
    ),
    (
        "offline-cpu0-node0",
        Facts {
            online: "4-20",
            offline: "0-3,21-23",
            packages: 3,
            cores: 24,
            threads_per_core: 1,
            caches: &[(1, 17, 1), (2, 17, 1), (3, 2, 12)],
            nodes: &[1],
            model: Some("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"),
        },
    ),
];

fn collection() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/machines");
    path.is_dir().then_some(path)
}

fn read(name: &str) -> Option<Machine> {
    let path = collection()?.join(format!("{name}.tar.bz2"));
    let root = Root::open(&path).unwrap_or_else(|error| panic!("{error}"));
    Some(Machine::read(&root).with_tasks(&root).with_interrupts(&root))
}

fn check(name: &str, facts: &Facts, topology: &Topology) {
    assert_eq!(topology.online.to_string(), facts.online, "{name}: online");
    assert_eq!(topology.offline().to_string(), facts.offline, "{name}: offline");
    // Offline CPUs have no known position: each counts as a core, and all together as one unnamed package.
    assert_eq!(topology.packages().len(), facts.packages, "{name}: packages");
    assert_eq!(topology.cores().len(), facts.cores, "{name}: cores");
    let threads = topology.cores().iter().map(machine::CpuSet::len).max();
    assert_eq!(threads, Some(facts.threads_per_core), "{name}: threads");
    for &(level, count, shared) in facts.caches {
        let of_level = topology.caches.iter().filter(|cache| cache.level == level);
        let data: Vec<_> = of_level
            .filter(|cache| cache.kind != machine::CacheKind::Instruction)
            .collect();
        assert_eq!(data.len(), count, "{name}: level {level} caches");
        assert_eq!(
            data.iter().map(|cache| cache.shared_by.len()).max(),
            Some(shared),
            "{name}: level {level}"
        );
        assert!(
            data.iter().all(|cache| cache.size_bytes.is_some()),
            "{name}: sizes of level {level}"
        );
    }
    let levels = topology.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    assert_eq!(levels as usize, facts.caches.len(), "{name}: cache levels");
    let nodes: Vec<u32> = topology.nodes.iter().map(|node| node.id).collect();
    assert_eq!(nodes, facts.nodes, "{name}: nodes");
    assert_eq!(topology.model_name.as_deref(), facts.model, "{name}: model");
    assert_eq!(topology.hypervisor, None, "{name}: it is real hardware");
}

#[test]
fn all_captured_machines_are_read_correctly() {
    let Some(collection) = collection() else {
        println!("SKIP: all_captured_machines_are_read_correctly: ../shared/machines is not there");
        return;
    };
    let mut checked = 0;
    for (name, facts) in MACHINES {
        let machine = read(name).unwrap();
        check(name, facts, &machine.topology);
        assert_eq!(machine.unreadable, [], "{name}");
        checked += 1;
    }
    let archives = std::fs::read_dir(collection).unwrap();
    let archives = archives.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains(".tar"));
    assert_eq!(
        archives.count(),
        checked,
        "a machine of the collection has no facts here"
    );
}

#[test]
fn peculiarities_of_captured_machines_are_read_correctly() {
    if collection().is_none() {
        println!("SKIP: peculiarities_of_captured_machines_are_read_correctly: ../shared/machines is not there");
        return;
    }
    let hybrid = read("20em64t-hybrid-1p6c2t+2ca4co1t").unwrap();
    assert!(hybrid.topology.is_hybrid());
    for cpu in &hybrid.topology.cpus {
        let expected = if cpu.id.0 < 12 {
            CoreKind::Performance
        } else {
            CoreKind::Efficiency
        };
        assert_eq!(cpu.kind, Some(expected), "{}", cpu.id);
    }
    assert_eq!(hybrid.kernel.version, Some((6, 1)));
    assert_eq!(
        hybrid.topology.cpu(CpuId(13)).unwrap().l2.as_ref().unwrap().to_string(),
        "12-15"
    );
    assert_eq!(hybrid.topology.cpu(CpuId(3)).unwrap().max_khz, Some(5_000_000));

    let arm = read("128arm-2pa2n8cluster4co").unwrap();
    assert!(!arm.topology.is_hybrid(), "all have the capacity 1024");
    assert_eq!(arm.kernel.preemption, Some(machine::Preemption::Full));
    assert_eq!(arm.topology.cpu(CpuId(127)).unwrap().package, Some(8442));
    assert_eq!(arm.topology.cpu(CpuId(1)).unwrap().cluster, Some(138));
    assert_eq!(arm.topology.node(1).unwrap().distances, [16, 10, 25, 32]);

    let sparse = read("48amd64-4pa2n6c-sparse").unwrap();
    assert_eq!(sparse.topology.cpu(CpuId(20)).unwrap().node, Some(33));

    // Every node claims all CPUs. The link of each CPU is correct.
    let buggy = read("8em64t-2s2ca2c-buggynuma").unwrap();
    let nodes: Vec<_> = buggy.topology.cpus.iter().map(|cpu| cpu.node).collect();
    assert_eq!(nodes, (0..8).map(Some).collect::<Vec<_>>());

    let off = read("offline-cpu0-node0").unwrap();
    let zero = off.topology.cpu(CpuId(0)).unwrap();
    assert!(!zero.online && zero.package.is_none() && zero.llc.is_none());
    assert_eq!(off.topology.cpu(CpuId(1)).unwrap().node, Some(1));
    assert_eq!(off.topology.cpu(CpuId(5)).unwrap().node, Some(1));
    // Node 0 is offline: its CPUs still name it, but it has no entry.
    assert_eq!(off.topology.cpu(CpuId(4)).unwrap().node, Some(0));
    assert!(off.topology.node(0).is_none());
    assert_eq!(off.topology.width(), 192);

    let ppc = read("256ppc-8n8s4t").unwrap();
    assert!(
        ppc.topology.cpus.iter().all(|cpu| cpu.package.is_none()),
        "-1 is unknown"
    );
    assert_eq!(
        ppc.topology.siblings_of(&machine::CpuSet::range(5, 5)).to_string(),
        "4,6-7"
    );

    let s390 = read("20s390-2g6s4c").unwrap();
    let five = s390.topology.cpu(CpuId(5)).unwrap();
    assert_eq!((five.package, five.book, five.drawer), (None, Some(1), Some(4)));
    assert_eq!(five.package_cpus.as_ref().unwrap().to_string(), "3-6");

    // An old cpuset file system, without today's file name prefix.
    let old = read("16amd64-8n2c-cpusets").unwrap();
    let tree = old.cgroups.cpuset.unwrap();
    assert_eq!((tree.mount.as_str(), tree.prefix.as_str()), ("/dev/cpuset", ""));
    assert_eq!(
        tree.set("/dummy").unwrap().cpus.as_ref().unwrap().to_string(),
        "0-6,12-15"
    );
    let torque = read("40intel64-2g2n4c+pcilocality").unwrap().cgroups.cpuset.unwrap();
    assert!(torque.sets.len() > 10);
    assert_eq!(
        torque
            .set("/torque/513099.master.cm.cluster/3")
            .unwrap()
            .sched_load_balance,
        Some(true)
    );

    let xeon = read("32intel64-2p8co2t+8ve").unwrap();
    assert_eq!(xeon.kernel.release.as_deref(), Some("3.10.0-1160.15.2.el7.x86_64"));
    assert_eq!(xeon.isolation.nohz_full, Some(machine::CpuSet::new()));
    assert_eq!(
        xeon.kernel
            .cmdline
            .unwrap()
            .last("crashkernel")
            .unwrap()
            .value
            .as_deref(),
        Some("auto")
    );
}
