//! Tests tracing where it is forbidden: a locked-down kernel shows an empty tracefs. All messages are true, and the
//! best remaining method is used.

use crate::kernels::K7;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs on the newest kernel, locked down.
pub const SCENARIO: Scenario = Scenario {
    name: "lockdown",
    about: "blame under lockdown=confidentiality counts and names no thread, trace record says why it cannot",
    cells,
    script,
    check,
};

/// The same kernel, locked down while the trace of a killed command still exists.
pub const LATER: Scenario = Scenario {
    name: "lockdown_later",
    about: "what a killed blame traced cannot be removed once the kernel is locked down: apply, guard, run and undo do their job",
    cells: || vec![ScenarioCell::new(K7, CgroupLayout::V2).within(240)],
    script: script_later,
    check: check_later,
};

/// Forbids every interface that could reveal kernel memory, including tracing.
const LOCKED: GuestShape = GuestShape {
    boot: "lockdown=confidentiality",
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    vec![ScenarioCell::new(K7, CgroupLayout::V2).on(LOCKED).within(300)]
}

/// Runs a spinner on the CPU, so that any other thread there has to wait.
const SPINNER: &str = "lab-guest spin 3 other:0 600 >/dev/null &
spinner=$!
wait_for 60 sh -c \"lab places_of lab-guest | grep -q .\"
";

const FORBIDDEN: &str =
    "rec lockdown sh -c 'mount -t securityfs none /sys/kernel/security; cat /sys/kernel/security/lockdown'
rec probe quietcore blame --cpus 2 --for 1s --json
rec command quietcore blame --cpus 3 --for 2s --json -- sh -c 'while :; do :; done'
rec record quietcore trace record --cpus 2 --for 1s -o /tmp/trace.dat
rec file ls /tmp/trace.dat
";

fn script(_: &ScenarioCell) -> String {
    format!("{SPINNER}{FORBIDDEN}kill -9 $spinner\n")
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let lockdown = seen.get("lockdown");
    verdict.that(
        lockdown.text().contains("[confidentiality]"),
        format!("locked down: {}", lockdown.text()),
    );
    for name in ["probe", "command"] {
        let result = verdict.status(seen, name, 0);
        let answer = result.json();
        let cpu = &answer["cpus"][0];
        verdict.that(
            result.stderr.contains("locked down") && result.stderr.contains("lockdown=integrity"),
            format!("{name}: says why, and what would help: {}", result.stderr),
        );
        verdict.that(
            !answer["no_trace"].is_null(),
            format!("{name}: nothing was traced: {}", answer["no_trace"]),
        );
        verdict.that(
            cpu["stolen_ns"].as_u64().is_some_and(|ns| ns > 0) && cpu["stolen_ns"] == cpu["unexplained_ns"],
            format!("{name}: something was stolen, and nobody is named: {cpu}"),
        );
    }
    let record = verdict.status(seen, "record", 3);
    verdict.that(
        record.stderr.contains("locked down"),
        format!("record says why: {}", record.stderr),
    );
    verdict.that(seen.get("file").status != 0, "no file is left");
}

fn script_later(_: &ScenarioCell) -> String {
    "state before
quietcore apply --cpus 3 --quiet
quietcore blame --cpus 3 --for 100s >/dev/null 2>&1 & blame=$!
wait_for 60 sh -c 'ls /sys/kernel/tracing/instances | grep -q .'
sleep 1
kill -9 $blame
rec traced sh -c 'ls /sys/kernel/tracing/instances | grep .'
mount -t securityfs none /sys/kernel/security
echo confidentiality >/sys/kernel/security/lockdown
rec lockdown cat /sys/kernel/security/lockdown
rec run quietcore run --cpus 3 -- true
rec undo quietcore undo
rec apply quietcore apply --cpus 3 --confirm-within 3s
wait_for 60 sh -c '! test -e /run/quietcore/journal'
rec guarded ls /run/quietcore/journal
rec apply_again quietcore apply --cpus 3 --confirm-within 30s
rec confirm quietcore confirm
rec undo_again quietcore undo
rec traced_after sh -c '! ls /sys/kernel/tracing/instances | grep .'
state after
# What is locked cannot be compared.
for name in before after; do grep -v -e '^/sys/kernel/debug/' -e '^/sys/kernel/tracing/' -e 'Operation not permitted' /tmp/$name >/tmp/${name}_seen; done
same same before_seen after_seen
"
    .to_owned()
}

fn check_later(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "traced", 0);
    let lockdown = seen.get("lockdown");
    verdict.that(
        lockdown.text().contains("[confidentiality]"),
        format!("locked down: {}", lockdown.text()),
    );
    for name in [
        "run",
        "undo",
        "apply",
        "apply_again",
        "confirm",
        "undo_again",
        "traced_after",
    ] {
        verdict.status(seen, name, 0);
    }
    verdict.that(
        seen.get("guarded").status != 0,
        "the guard undid what was not confirmed",
    );
    let errors = seen.get("run").stderr;
    verdict.note(format!("run said: {}", errors.lines().next().unwrap_or("nothing")));
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state", same.text(), "");
}
