//! Runs with a real systemd as init: a unit is isolated in its own cgroup, which systemd keeps managing.

use super::systemd::{same_states, systemd_guest};
use crate::kernels::K7;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::verdict::ScenarioVerdict;

/// Runs with the newest systemd on the newest kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "in_place_units",
    about: "with systemd as init a unit is isolated in its own cgroup; reloads and its end leave nothing behind",
    cells: || vec![systemd_guest(K7)],
    script,
    check,
};

const SCRIPT: &str = r#"
export LAB_STATE_LEAVES=/run/quietcore/journal
c=/sys/fs/cgroup
look() {
    for unit in plain asked; do
        note "$1_$unit" "$(cat $c/system.slice/$unit.service/cpuset.cpus.partition 2>/dev/null || echo none)"
    done
    note "$1_control" "$(cat $c/system.slice/cgroup.subtree_control)"
}
isolate() { quietcore apply --cpus $1 --profile minimal --partition $2 --in-place unit:$2.service --json; }
systemd-run --quiet --unit=plain -p MemoryMax=100M /bin/sleep 900
systemd-run --quiet --unit=asked -p MemoryMax=100M -p Delegate=cpuset /bin/sleep 900
sleep 0.5
state before
look before
rec plain isolate 3 plain
look one
rec asked isolate 2 asked
look applied
systemctl daemon-reload
sleep 0.5
look reloaded
systemd-run --quiet --unit=other /bin/sleep 900
sleep 0.5
look started
systemctl stop other
look stopped
systemctl daemon-reexec
sleep 1
look reexecuted
rec limit cat $c/system.slice/asked.service/memory.max
rec check quietcore check --for 1s --json
rec undo quietcore undo --partition asked --json
look half
rec undo_two quietcore undo --json
look undone
state after
same same before after
rec again isolate 3 asked
systemctl stop asked
look ended
rec undo_ended quietcore undo --json
look ended_undone
"#;

fn script(_: &ScenarioCell) -> String {
    SCRIPT.to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["plain", "asked", "undo", "undo_two", "again", "undo_ended"] {
        verdict.status(seen, name, 0);
    }
    same_states(seen, "same", verdict);
    for place in [
        "before",
        "one",
        "applied",
        "reloaded",
        "started",
        "stopped",
        "reexecuted",
        "half",
        "undone",
        "ended",
        "ended_undone",
    ] {
        verdict.note(format!(
            "{place}: {} {} [{}]",
            seen.get(&format!("{place}_plain")).text(),
            seen.get(&format!("{place}_asked")).text(),
            seen.get(&format!("{place}_control")).text()
        ));
    }
}
