//! CPU expressions, on a known machine and on one about which nothing is known.

use super::{FuzzTarget, owned, text};
use machine::{CpuSet, Topology, evaluate_cpus};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "cpu_expressions",
    seeds: || {
        owned(&[
            "0-3,package:1",
            "llc-of:7",
            "core-of:3,0x8",
            "node:0-1",
            "online",
            "ff,ffffffff",
            "N-1",
            "package-of:",
            "all:2/3",
            "",
        ])
    },
    run: |bytes| {
        let known = Topology {
            online: CpuSet::range(0, 7),
            present: Some(CpuSet::range(0, 7)),
            possible: Some(CpuSet::range(0, 15)),
            ..Topology::default()
        };
        for topology in [Topology::default(), known] {
            if let Ok(set) = evaluate_cpus(&text(bytes), &topology) {
                assert_eq!(CpuSet::parse_list(&set.to_string()), Ok(set));
            }
        }
    },
};
