//! Steal time, where the hypervisor reports it.

use super::{NotCounted, Row, Way};

pub(super) const ROW: Row = Row {
    name: "steal",
    unit: "ns",
    source: "/proc/stat, in ticks of USER_HZ",
    way: Way::Found(|result, _| {
        result
            .steal_ns
            .ok_or(NotCounted::Because("/proc/stat was not read at both ends"))
    }),
};
