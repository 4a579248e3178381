//! The sampler thread's own activity, by `getrusage(RUSAGE_THREAD)` right before and right after its window.

use super::{CountMethod, CountRow, CountValue, NotCounted};
use crate::{OwnDisturbances, ThreadResult};

const SOURCE: &str = "getrusage(RUSAGE_THREAD) of the sampler";

pub(super) const PAGE_FAULTS: CountRow = CountRow {
    name: "own_page_faults",
    unit: "faults",
    source: SOURCE,
    way: CountMethod::Found(|result, _| own(result, |own| own.page_faults)),
};

pub(super) const VOLUNTARY: CountRow = CountRow {
    name: "own_voluntary_switches",
    unit: "switches",
    source: SOURCE,
    way: CountMethod::Found(|result, _| own(result, |own| own.voluntary_switches)),
};

pub(super) const INVOLUNTARY: CountRow = CountRow {
    name: "own_involuntary_switches",
    unit: "switches",
    source: SOURCE,
    way: CountMethod::Found(|result, _| own(result, |own| own.involuntary_switches)),
};

fn own(result: &ThreadResult, of: fn(&OwnDisturbances) -> u64) -> CountValue {
    let own = result.own.as_ref();
    own.map(of)
        .ok_or(NotCounted::Because("the sampler ended before it could report this"))
}
