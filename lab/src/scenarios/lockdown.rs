//! Tracing where it is forbidden: a kernel that is locked down shows an empty tracefs. What is said is true, and the best
//! that is left is done.

use crate::kernels::K7;
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::{Layout, Shape, USUAL};
use crate::verdict::Verdict;

/// The newest kernel, locked down.
pub const SCENARIO: Scenario = Scenario {
    name: "lockdown",
    about: "blame under lockdown=confidentiality counts and names nobody, trace record says why it cannot",
    cells,
    script,
    check,
};

/// Everything forbidden that could show the kernel's memory, tracing too.
const LOCKED: Shape = Shape {
    boot: "lockdown=confidentiality",
    ..USUAL
};

fn cells() -> Vec<Cell> {
    vec![Cell::new(K7, Layout::V2).on(LOCKED).within(300)]
}

/// A CPU that somebody else spins on, so that whoever wants it waits.
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

fn script(_: &Cell) -> String {
    format!("{SPINNER}{FORBIDDEN}kill -9 $spinner\n")
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    let lockdown = seen.get("lockdown");
    verdict.that(
        lockdown.text().contains("[confidentiality]"),
        format!("locked down: {}", lockdown.text()),
    );
    for name in ["probe", "command"] {
        let told = verdict.status(seen, name, 0);
        let answer = told.json();
        let cpu = &answer["cpus"][0];
        verdict.that(
            told.stderr.contains("locked down") && told.stderr.contains("lockdown=integrity"),
            format!("{name}: says why, and what would help: {}", told.stderr),
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
