//! `/proc/softirqs`.

use super::{FuzzTarget, owned, text};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "softirqs",
    seeds: || {
        owned(&[
            "                    CPU0       CPU1\n          HI:          0          1\n       TIMER:     123456     654321\n     NET_RX:  18446744073709551615 2\n",
        ])
    },
    run: |bytes| {
        let _ = observe::parse_interrupts(&text(bytes));
    },
};
