//! `stat` and `status` of tasks, which choose their own names.

use super::{FuzzTarget, owned, text};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "tasks",
    seeds: || {
        owned(&[
            "77 (a) b) (c) S 1 77 77 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 5 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n",
            "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 5 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 -1 3 99 1 0 0 0\n",
            "Name:\ta\\nb\nState:\tS (sleeping)\nCpus_allowed:\tff,ffffffff\nCpus_allowed_list:\t0-39\nThreads:\t1\n",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        let _ = machine::parse_stat(&text);
        let _ = machine::parse_status_allowed(&text);
    },
};
