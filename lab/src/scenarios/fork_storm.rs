//! Tests `apply` against processes that fork faster than they can be listed: none may be left on the isolated CPU. Also
//! moves a thousand sleeping processes: that needs little memory and not much longer than a bare loop. [`super::speed`]
//! is the large version.

use super::apply_undo::movable;
use crate::records::{CommandRecord, GuestRecords};
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

const ROOMY: GuestShape = GuestShape {
    memory_mib: 512,
    ..USUAL
};
/// Maximum memory of `apply` and `undo`.
const MOST_KIB: u64 = 20 * 1024;
/// Maximum time of an `apply` on v1, as a multiple of the bare loop that moves the same thousand tasks. It includes a
/// fixed part of about half a second. An implementation that reads files for every task takes forty times as long.
const TIMES_BARE: f64 = 20.0;

/// Includes v1, the harder case: every task is moved separately there.
pub const SCENARIO: Scenario = Scenario {
    name: "fork_storm",
    about: "a fork storm runs during apply and undo, and no task is left behind",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind()
        .map(|cell| cell.on(ROOMY).within(240))
        .to_vec()
}

fn script(_: &ScenarioCell) -> String {
    "crowd=$(lab-guest sleepers 1000)
for round in 1 2; do
    rec quiet$round quietcore apply --cpus 3 --quiet
    cp /run/quietcore/journal /tmp/written
    rec quiet-undo$round quietcore undo --quiet
    for turn in 1 2 3 4 5 6 7 8; do
        rec bare/$round-$turn lab-guest bare /tmp/written
        rec bare-undo/$round-$turn lab-guest bare-undo /tmp/written
    done
done
# The storm has its own time limit, within which everybody is looked at three times.
kill $crowd
lab-guest sleepers 300 >/dev/null
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

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    frugal(cell, seen, verdict);
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

/// Checks the memory on every kernel, and the time where every task is moved separately.
fn frugal(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["quiet1", "quiet2", "quiet-undo1", "quiet-undo2", "apply", "undo"] {
        let peak = verdict.status(seen, name, 0).peak_kib;
        verdict.that(
            (1..MOST_KIB).contains(&peak),
            format!("{name} had {peak} KiB, {MOST_KIB} at most"),
        );
    }
    // Both are means. One loop may have a CPU of a loaded host to itself, but an `apply`, which takes as long as many
    // loops, may not.
    let quiet = mean(seen, "quiet", |apply| apply.ms as f64);
    let bare = mean(seen, "bare/", |bare| bare.json()["us"].as_f64().unwrap_or(0.0) / 1e3);
    if cell.layout == CgroupLayout::V1 {
        verdict.that(
            quiet < TIMES_BARE * bare,
            format!("apply took {quiet:.0} ms, the bare loop {bare:.0}"),
        );
    }
    verdict.note(format!("apply {:.1} times the bare loop", quiet / bare));
}

/// The mean over the records whose names have this prefix and a number.
fn mean(seen: &GuestRecords, prefix: &str, value: impl Fn(&CommandRecord) -> f64) -> f64 {
    let is_one = |name: &&str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(char::is_numeric))
    };
    let values: Vec<f64> = seen.names().filter(is_one).map(|name| value(&seen.get(name))).collect();
    values.iter().sum::<f64>() / values.len() as f64
}
