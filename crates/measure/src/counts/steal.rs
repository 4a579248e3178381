//! Steal time, where the hypervisor reports it.

use super::{CountMethod, CountRow, NotCounted};

pub(super) const ROW: CountRow = CountRow {
    name: "steal",
    unit: "ns",
    source: "/proc/stat, in ticks of USER_HZ",
    way: CountMethod::Found(|result, _| {
        result.steal_ns.ok_or(NotCounted::Because(
            "/proc/stat was not read at the start and at the end",
        ))
    }),
};
