//! The kernel's CPU lists: reading and writing a list preserves it.

use super::{FuzzTarget, owned, text};
use machine::CpuSet;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "cpu_lists",
    seeds: || {
        owned(&[
            "0",
            "0-3,5",
            "0-31:2/4",
            "7-5",
            "N",
            "all,3",
            "0-1023\n",
            "",
            "4294967295",
            "1,,2",
            "0-8191:1/8191",
        ])
    },
    run: |bytes| {
        if let Ok(set) = CpuSet::parse_list(&text(bytes)) {
            assert_eq!(CpuSet::parse_list(&set.to_string()), Ok(set.clone()));
            assert_eq!(set.iter().count(), set.len());
        }
        let possible = CpuSet::range(0, 63);
        if let Ok(set) = CpuSet::parse_list_of(&text(bytes), &possible) {
            assert_eq!(CpuSet::parse_list(&set.to_string()), Ok(set));
        }
    },
};
