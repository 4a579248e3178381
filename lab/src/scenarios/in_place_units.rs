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
systemd-run --quiet --unit=plain -p MemoryMax=100M /bin/sleep 900
sleep 0.5
look alone
rec alone quietcore apply --cpus 3 --profile minimal --partition plain --in-place unit:plain.service --json
look alone_applied
systemctl daemon-reload
sleep 0.5
look alone_reloaded
systemd-run --quiet --unit=other /bin/sleep 900
sleep 0.5
look alone_started
systemctl stop other
rec alone_check quietcore check --for 1s --json
rec alone_undo quietcore undo --json
systemd-run --quiet --unit=asked -p MemoryMax=100M -p Delegate=cpuset /bin/sleep 900
sleep 0.5
state before
look before
rec plain quietcore apply --cpus 3 --profile minimal --partition plain --in-place unit:plain.service --json
look one
rec asked quietcore apply --cpus 2 --profile minimal --partition asked --in-place unit:asked.service --json
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
rec again quietcore apply --cpus 3 --profile minimal --partition asked --in-place unit:asked.service --json
systemctl stop asked
look ended
rec undo_ended quietcore undo --json
# systemd disables a controller that no unit needs some time after the last one has ended.
wait_for 30 sh -c '! grep -q cpuset /sys/fs/cgroup/system.slice/cgroup.subtree_control'
look ended_undone
"#;

fn script(_: &ScenarioCell) -> String {
    SCRIPT.to_owned()
}

/// What the partitions of the two units read at each place: `none` without the controller or without the unit.
const STATES: [(&str, &str, &str); 15] = [
    ("alone", "none", "none"),
    ("alone_applied", "isolated", "none"),
    ("alone_reloaded", "isolated", "none"),
    ("alone_started", "isolated", "none"),
    ("before", "member", "member"),
    ("one", "isolated", "member"),
    ("applied", "isolated", "isolated"),
    ("reloaded", "isolated", "isolated"),
    ("started", "isolated", "isolated"),
    ("stopped", "isolated", "isolated"),
    ("reexecuted", "isolated", "isolated"),
    ("half", "isolated", "member"),
    ("undone", "member", "member"),
    ("ended", "member", "none"),
    ("ended_undone", "none", "none"),
];

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in [
        "alone",
        "alone_undo",
        "plain",
        "asked",
        "undo",
        "undo_two",
        "again",
        "undo_ended",
    ] {
        verdict.status(seen, name, 0);
    }
    for (place, plain, asked) in STATES {
        let state = |unit: &str| seen.get(&format!("{place}_{unit}")).text().to_owned();
        let expected = (plain.to_owned(), asked.to_owned());
        verdict.equal(place, (state("plain"), state("asked")), expected);
    }
    verdict.equal("the limit", seen.get("limit").text(), "104857600");
    for name in ["alone_check", "check"] {
        let check = seen.get(name).json();
        let findings = check["findings"].as_array();
        let errors = findings.map_or(1, |all| all.iter().filter(|one| one["level"] == "error").count());
        verdict.equal(name, errors, 0);
    }
    verdict.equal(
        "system.slice at the end",
        seen.get("ended_undone_control").text(),
        "memory pids",
    );
    same_states(seen, "same", verdict);
}
