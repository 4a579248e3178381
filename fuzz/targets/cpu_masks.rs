//! The kernel's CPU masks: reading and writing a mask preserves it.

use super::{FuzzTarget, owned, text};
use machine::CpuSet;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "cpu_masks",
    seeds: || {
        owned(&[
            "f",
            "0x3",
            "ffffffff,00000001",
            "00000000\n",
            "",
            ",",
            "1,,2",
            "fffffffff",
            &"ffffffff,".repeat(40),
        ])
    },
    run: |bytes| {
        if let Ok(set) = CpuSet::parse_mask(&text(bytes)) {
            let width = set.last().map_or(1, |cpu| cpu.0 + 1);
            assert_eq!(CpuSet::parse_mask(&set.to_mask(width)), Ok(set));
        }
    },
};
