//! Processes that fork faster than anybody can list them: none may be left on the isolated CPU.

use super::apply_undo::movable;
use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::Layout;
use crate::verdict::Verdict;

/// v1 is the hard case, because every task is moved by itself there.
pub const SCENARIO: Scenario = Scenario {
    name: "fork_storm",
    about: "a fork storm runs during apply and undo, and no task is left behind",
    cells,
    script,
    check,
};

fn cells() -> Vec<Cell> {
    let cells = [
        (K6_1, Layout::V1),
        (K6_1, Layout::V2),
        (K6_12_RT, Layout::V2),
        (K7, Layout::V2),
    ];
    cells
        .map(|(kernel, layout)| Cell::new(kernel, layout).within(240))
        .to_vec()
}

fn script(_: &Cell) -> String {
    "lab-guest sleepers 300 >/dev/null
state before
lab-guest storm /tmp/stop 300 >/tmp/born &
storm=$!
sleep 1
rec apply quietcore apply --cpus 3 --json
for n in 1 2 3; do rec who$n lab-guest who 3; done
rec undo quietcore undo --json
rec blowing test ! -s /tmp/born
touch /tmp/stop
wait $storm
sleep 1
rec born cat /tmp/born
state after
same same before after
"
    .to_owned()
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    verdict.status(seen, "apply", 0);
    for name in ["who1", "who2", "who3"] {
        let left = movable(&verdict.status(seen, name, 0).stdout);
        verdict.that(
            left.is_empty(),
            format!("{name}: tasks left on CPU 3: {}", left.join(", ")),
        );
    }
    let born = seen.get("born").text().parse::<u32>().unwrap_or(0);
    verdict.that(born > 200, format!("the storm was one: {born} children"));
    verdict.status(seen, "undo", 0);
    verdict.status(seen, "blowing", 0);
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state after undo", same.text(), "");
    verdict.note(format!("{born} children"));
}
