//! Sends SIGTERM, SIGINT and SIGHUP at the state-changing system calls of verbs: no verb stops halfway. A change that
//! can be undone is undone, with status 1. An `undo` is finished. Other verbs complete their change and then end by the
//! signal.

use super::sigkill_anywhere::swept;
use crate::kernels::K7;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// One kernel is enough: the effect of a signal on a verb does not depend on it.
pub const SCENARIO: Scenario = Scenario {
    name: "signals",
    about: "apply, undo and cset get SIGTERM, SIGINT and SIGHUP at their changes, and leave nothing half done",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    vec![ScenarioCell::new(K7, CgroupLayout::V2).within(480)]
}

/// A sweep: its name, the result of the command when the signal arrives in the middle, calls between two signals, swept
/// commands.
type Sweep = (&'static str, &'static str, u32, &'static str);

const SWEEPS: &[Sweep] = &[
    (
        "apply",
        "1",
        25,
        "term N -- quietcore apply --cpus 3 --quiet -- sh /tmp/again",
    ),
    (
        "resize",
        "1",
        55,
        "int N -- quietcore apply --resize --cpus 2-3 --quiet -- sh /tmp/again -- sh /tmp/inhabited",
    ),
    (
        "undo",
        "0",
        15,
        "hup N -- quietcore undo --quiet -- sh /tmp/again -- quietcore apply --cpus 3 --quiet",
    ),
    (
        "reset",
        "143",
        20,
        "term N -- quietcore cset shield --reset -- sh /tmp/again -- quietcore cset shield -c 3",
    ),
];

/// Minimum number of times that each command is stopped in the middle.
const LEAST: u64 = 2;

/// The first call at which a signal arrives. The command holds the lock at that point.
const FIRST: u32 = 23;

fn script(_: &ScenarioCell) -> String {
    // Another partition is created only if nothing is incomplete.
    let mut script = "lab-guest sleepers 2 tenant >/dev/null
lab-guest hold 3 &
sleep 1
echo 'quietcore apply --partition probe --cpus 1 --quiet && quietcore undo --all --quiet' >/tmp/again
echo 'quietcore apply --cpus 3 --quiet && quietcore move --name tenant --quiet' >/tmp/inhabited
"
    .to_owned();
    for (name, _, step, what) in SWEEPS {
        let what = what.replace('N', &format!("{step} {FIRST}"));
        script.push_str(&format!("rec {name} lab-guest sweep {what}\n"));
    }
    script
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, middle, ..) in SWEEPS {
        swept(seen, name, LEAST, verdict);
        let statuses = seen.get(name).json()["statuses"].clone();
        let times = statuses[middle].as_u64().unwrap_or(0);
        verdict.that(
            times >= LEAST,
            format!("{name}: ends with {middle} in the middle: {statuses}"),
        );
        // A signal after the last change has no effect.
        let others = statuses.as_object().into_iter().flatten();
        let strange: Vec<&String> = others
            .map(|(status, _)| status)
            .filter(|status| status != middle && *status != "0")
            .collect();
        verdict.that(strange.is_empty(), format!("{name}: no other status: {statuses}"));
    }
}
