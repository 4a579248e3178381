//! Sends SIGKILL at the state-changing system calls of `apply --resize`, `cset` and `partrt`: a later `undo` restores
//! everything.

use super::sigkill_anywhere::swept;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Covers both halves of a resize and the front ends, with v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "sigkill_more",
    about: "apply --resize, cset and partrt are killed at their changes, then undo restores the state before",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [(K6_1, CgroupLayout::V1), (K7, CgroupLayout::V2)]
        .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(900))
        .to_vec()
}

/// Name of the sweep, minimum number of kills, calls between two kills, swept commands.
const SWEEPS: &[(&str, u64, u32, &str)] = &[
    (
        "resize",
        5,
        29,
        "sweep -- quietcore apply --resize --cpus 2-3 --quiet -- quietcore undo --quiet -- sh /tmp/inhabited",
    ),
    (
        "shield",
        3,
        31,
        "sweep -- quietcore cset shield -c 2-3 -k on -- quietcore undo --all --quiet",
    ),
    (
        "shield_change",
        3,
        51,
        "sweep -- quietcore cset shield -c 3 -- quietcore undo --all --quiet -- quietcore cset shield -c 2-3",
    ),
    (
        "set",
        2,
        5,
        "sweep -- quietcore cset set -c 2-3 mine -- quietcore undo --all --quiet",
    ),
    (
        "proc",
        2,
        3,
        "sweep -- quietcore cset proc -m PIDS mine -- quietcore undo --all --quiet -- quietcore cset set -c 2-3 mine",
    ),
    (
        "partrt",
        3,
        23,
        "sweep -- quietcore partrt create 0x8 -- quietcore undo --all --quiet",
    ),
    (
        "partrt_undo",
        2,
        19,
        "sweep-undo -- quietcore partrt create 0x8 -- quietcore partrt undo",
    ),
];

fn script(cell: &ScenarioCell) -> String {
    // Each cell kills at different calls.
    let offset = if cell.layout == CgroupLayout::V1 { 2 } else { 3 };
    let mut script = "lab-guest sleepers 2 tenant >/tmp/tenants
lab-guest hold 3 &
sleep 1
pids=$(tr '\\n' ' ' </tmp/tenants | tr -s ' ' , | sed 's/,$//')
cat >/tmp/inhabited <<'END'
quietcore apply --cpus 3 --quiet && quietcore move --name tenant --quiet
END
"
    .to_owned();
    for (name, _, step, what) in SWEEPS {
        let (verb, commands) = what.split_once(" -- ").unwrap_or((what, ""));
        let commands = commands.replace("PIDS", "$pids");
        script.push_str(&format!(
            "rec {name} lab-guest {verb} entry {step} {offset} -- {commands}\n"
        ));
    }
    // Resizes once with a spinning real-time program inside. The resize is killed when the program is moved out and
    // demoted.
    script.push_str(
        "state before
sh /tmp/inhabited
quietcore run --cpus 3 -- lab-guest spin 3 fifo:50 600 >/dev/null & spinner=$!
sleep 1
rec killed lab-guest killat 120 entry -- quietcore apply --resize --cpus 2-3 --quiet
rec demoted lab places_of lab-guest
rec again quietcore apply --resize --cpus 2-3
rec apply quietcore apply --cpus 1
rec history quietcore history
rec undo quietcore undo
rec policy lab places_of lab-guest
kill -9 $spinner
state after
same same before after
",
    );
    script
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, least, _, _) in SWEEPS {
        swept(seen, name, *least, verdict);
    }
    let killed = verdict.status(seen, "killed", 0).json();
    verdict.equal("killed by SIGKILL", killed["status"].as_u64(), Some(137));
    let ends_with = |name: &str, expected: &str| seen.get(name).text().ends_with(expected);
    verdict.that(ends_with("demoted", " 0 0"), "the spinner was demoted in between");
    verdict.that(
        ends_with("policy", " 50 1"),
        format!("undo gives the policy back: {}", seen.get("policy").text()),
    );
    for name in ["again", "apply"] {
        let errors = &verdict.status(seen, name, 5).stderr;
        verdict.that(
            errors.contains("recreating partition rt with CPU 2-3 did not finish"),
            format!("{name} says what happened: {errors}"),
        );
    }
    let history = &verdict.status(seen, "history", 0).stdout;
    verdict.that(
        history.contains("Recreating partition rt with CPU 2-3 did not finish"),
        format!("history says what happened: {history}"),
    );
    let undone = &verdict.status(seen, "undo", 0).stdout;
    verdict.that(undone.contains("was interrupted; this is the state"), undone.clone());
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state after the undo", same.text(), "");
}
