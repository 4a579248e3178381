//! SIGKILL at every state-changing system call of `apply`, and of `undo`: a later `undo` restores everything.

use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::Layout;
use crate::verdict::Verdict;

/// Every call on one kernel with v1 and one with v2, shared out over several guests; samples on others.
pub const SCENARIO: Scenario = Scenario {
    name: "sigkill_anywhere",
    about: "apply or undo is killed at each of its changes, then undo gives back the state before",
    cells,
    script,
    check,
};

/// Guests that share the calls of one kernel.
const PARTS: u32 = 4;

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (kernel, layout) in [(K6_1, Layout::V1), (K7, Layout::V2)] {
        cells.extend((1..=PARTS).map(|part| Cell {
            part,
            ..Cell::new(kernel, layout).within(900)
        }));
    }
    cells.extend(
        [(K6_1, Layout::V2), (K6_12_RT, Layout::V2)]
            .map(|(kernel, layout)| Cell::new(kernel, layout).within(480)),
    );
    cells
}

fn script(cell: &Cell) -> String {
    // Samples take every sixth call.
    let (step, offset) = if cell.part == 0 {
        (6, 3)
    } else {
        (PARTS, cell.part)
    };
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

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    for (name, least) in [("apply", 5), ("undo", 2)] {
        swept(seen, name, least, verdict);
    }
}

/// A sweep stopped at that many calls at least, and every time everything was taken back.
pub fn swept(seen: &Records, name: &str, least: u64, verdict: &mut Verdict) {
    let swept = verdict.status(seen, name, 0).json();
    let number = |field: &str| swept[field].as_u64().unwrap_or(0);
    let (calls, tried, restored) = (number("calls"), number("tried"), number("restored"));
    verdict.that(
        tried >= least,
        format!("{name}: {tried} of {calls} calls were tried"),
    );
    verdict.equal(&format!("{name}: states restored"), restored, tried);
    for failure in swept["failures"].as_array().into_iter().flatten().take(4) {
        verdict.that(false, format!("{name}: {failure}"));
    }
    verdict.note(format!("{name} {restored} of {tried} restored ({calls} calls)"));
}
