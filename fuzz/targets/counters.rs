//! `/proc/stat` and `/proc/schedstat`.

use super::{FuzzTarget, owned, text};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "counters",
    seeds: || {
        owned(&[
            "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu5 1 2 3\nintr 5 1 2\nctxt 77\n",
            "version 17\ntimestamp 4295\ncpu0 0 0 1 2 3 4 5 6 7\ndomain0 03 1 2 3\ncpu1 0 0 18446744073709551615 2 3 4 5 6 7\n",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        let _ = observe::parse_stat(&text);
        let _ = observe::parse_schedstat(&text);
    },
};
