//! A real systemd is init: the partition outlives what it does to its control groups, and goes without a trace.

use crate::kernels::{K6_1, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::Layout;
use crate::verdict::Verdict;

/// With systemd 252 on 6.1, and with the newest on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "systemd",
    about: "with systemd as init a partition outlives reloads, units and logins, and goes without a trace",
    cells,
    script,
    check,
};

fn cells() -> Vec<Cell> {
    let cells = [K6_1, K7].map(|kernel| Cell::new(kernel, Layout::V2).within(200).under_systemd());
    cells.into()
}

fn script(_: &Cell) -> String {
    "note done yes\n".to_owned()
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    verdict.status(seen, "done", 0);
}
