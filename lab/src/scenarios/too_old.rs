//! A kernel whose v2 partitions do harm: `apply` must refuse.
//!
//! Before 5.12 the kernel does not mark bound workers as threads of one CPU. Creating or removing a partition therefore
//! widens their masks like those of any task. They then run on wrong CPUs, and the kernel warns in `process_one_work`.

use crate::kernels::K5_10;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs only with v2 mounted; with v1 this kernel is supported.
pub const SCENARIO: Scenario = Scenario {
    name: "too_old",
    about: "apply refuses v2 partitions of 5.10, which break kernel workers",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    vec![ScenarioCell::new(K5_10, CgroupLayout::V2)]
}

fn script(_: &ScenarioCell) -> String {
    "populate
state before
rec apply quietcore apply --cpus 3
sleep 5
state after
same same before after
rec tainted cat /proc/sys/kernel/tainted
"
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let apply = verdict.status(seen, "apply", 4);
    verdict.that(
        apply.stderr.lines().count() >= 3,
        format!("says what, why, what next: {:?}", apply.stderr),
    );
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state", same.text(), "");
    verdict.equal("tainted", seen.get("tainted").text(), "0");
}
