//! Sends SIGKILL at every state-changing system call of `apply` and of `undo`: a later `undo` restores everything.

use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Kills at every call on one kernel with v1 and one with v2, divided among several guests, and at samples on others.
pub const SCENARIO: Scenario = Scenario {
    name: "sigkill_anywhere",
    about: "apply or undo is killed at each of its changes, then undo restores the state before",
    cells,
    script,
    check,
};

/// Kills at some of the calls, different ones each day, so that it fits into `make test`. [`SCENARIO`] kills at all of
/// them.
pub const SAMPLE: Scenario = Scenario {
    name: "sigkill_sample",
    about: "apply or undo is killed at some of its changes, others each day, then undo restores the state before",
    cells: sample_cells,
    script: sample_script,
    check: check_sample,
};

/// A sample takes every tenth call.
const SAMPLE_STEP: u32 = 10;

/// Number of guests that share the calls of one kernel.
const PARTS: u32 = 4;

fn cells() -> Vec<ScenarioCell> {
    let mut cells = Vec::new();
    for (kernel, layout) in [(K6_1, CgroupLayout::V1), (K7, CgroupLayout::V2)] {
        cells.extend((1..=PARTS).map(|part| ScenarioCell {
            part,
            ..ScenarioCell::new(kernel, layout).within(900)
        }));
    }
    cells.extend(
        [(K6_1, CgroupLayout::V2), (K6_12_RT, CgroupLayout::V2)]
            .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(480)),
    );
    cells
}

fn script(cell: &ScenarioCell) -> String {
    // Samples take every sixth call.
    let (step, offset) = if cell.part == 0 { (6, 3) } else { (PARTS, cell.part) };
    sweeps(step, offset)
}

fn sweeps(step: u32, offset: u32) -> String {
    let undo_step = step * 3;
    format!(
        "lab-guest sleepers 5 >/dev/null
lab-guest hold 3 &
sleep 1
rec apply lab-guest sweep entry {step} {offset} -- quietcore apply --cpus 3 --quiet -- quietcore undo --quiet
rec undo lab-guest sweep-undo entry {undo_step} {offset} -- quietcore apply --cpus 3 --quiet -- quietcore undo --quiet
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, least) in [("apply", 5), ("undo", 2)] {
        swept(seen, name, least, verdict);
    }
}

fn sample_cells() -> Vec<ScenarioCell> {
    [(K6_1, CgroupLayout::V1), (K7, CgroupLayout::V2)]
        .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(480))
        .to_vec()
}

/// The first call of today's samples. `LAB_DAY`, days since 1970, repeats another day's samples.
fn todays_offset() -> u32 {
    let named = std::env::var("LAB_DAY").ok().and_then(|day| day.parse().ok());
    let today = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() / 86_400);
    let place = named.unwrap_or(today) % u64::from(SAMPLE_STEP);
    u32::try_from(place).unwrap_or(0) + 1
}

fn sample_script(_: &ScenarioCell) -> String {
    sweeps(SAMPLE_STEP, todays_offset())
}

fn check_sample(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    check(cell, seen, verdict);
    verdict.note(format!("every {SAMPLE_STEP}th call from call {}", todays_offset()));
}

/// Checks that a sweep killed at no fewer calls than `least`, and that everything was undone every time.
pub fn swept(seen: &GuestRecords, name: &str, least: u64, verdict: &mut ScenarioVerdict) {
    let swept = verdict.status(seen, name, 0).json();
    let number = |field: &str| swept[field].as_u64().unwrap_or(0);
    let (calls, tried, restored) = (number("calls"), number("tried"), number("restored"));
    verdict.that(tried >= least, format!("{name}: {tried} of {calls} calls were tried"));
    verdict.equal(&format!("{name}: states restored"), restored, tried);
    for failure in swept["failures"].as_array().into_iter().flatten().take(4) {
        verdict.that(false, format!("{name}: {failure}"));
    }
    verdict.note(format!("{name} {restored} of {tried} restored ({calls} calls)"));
}
