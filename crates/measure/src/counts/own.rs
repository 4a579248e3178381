//! The sampler thread's own activity, by `getrusage(RUSAGE_THREAD)` right before and right after its window.

use super::{Known, NotCounted, Row, Way};
use crate::{Own, ThreadResult};

const SOURCE: &str = "getrusage(RUSAGE_THREAD) of the sampler";

pub(super) const PAGE_FAULTS: Row = Row {
    name: "own_page_faults",
    unit: "faults",
    source: SOURCE,
    way: Way::Found(|result, _| own(result, |own| own.page_faults)),
};

pub(super) const VOLUNTARY: Row = Row {
    name: "own_voluntary_switches",
    unit: "switches",
    source: SOURCE,
    way: Way::Found(|result, _| own(result, |own| own.voluntary_switches)),
};

pub(super) const INVOLUNTARY: Row = Row {
    name: "own_involuntary_switches",
    unit: "switches",
    source: SOURCE,
    way: Way::Found(|result, _| own(result, |own| own.involuntary_switches)),
};

fn own(result: &ThreadResult, of: fn(&Own) -> u64) -> Known {
    let own = result.own.as_ref();
    own.map(of)
        .ok_or(NotCounted::Because("the sampler did not live to tell it"))
}
