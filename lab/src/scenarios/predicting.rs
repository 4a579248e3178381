//! `predict` names the programs that a partition moves away, and they are gone when it is applied.
//!
//! The times are those of an emulator, which stops one CPU while it runs another. So the claims are about what is named; how
//! much time remains is only recorded.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs with the oldest and the newest kernel, and so with both versions of cgroups.
pub const SCENARIO: Scenario = Scenario {
    name: "predicting",
    about: "what a partition would remove is predicted, and is gone when it is applied",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    let cell = |kernel, layout| ScenarioCell::new(kernel, layout).within(240);
    vec![cell(K6_1, CgroupLayout::V1), cell(K7, CgroupLayout::V2)]
}

fn script(_: &ScenarioCell) -> String {
    r#"for i in 1 2 3 4 5 6; do sh -c 'while :; do :; done' & done
sleep 1
rec predicted quietcore predict --cpus 3 --for 5s --json
rec applied quietcore apply --cpus 3
rec after quietcore blame --cpus 3 --for 5s --json --gaps /tmp/gaps
rec later quietcore predict --from /tmp/gaps --json
rec refused quietcore predict --from /tmp/gaps --profile minimal
rec undone quietcore undo
kill $(jobs -p); wait
"#
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["predicted", "applied", "after", "later", "undone"] {
        verdict.status(seen, name, 0);
    }
    let predicted = seen.get("predicted").json();
    let now = stolen(&predicted["now"]);
    let moved = change(&predicted, "partition").map_or(0.0, |change| number(&change["moved_ns_per_s"]));
    verdict.that(
        moved > 1e8,
        format!("a partition would move {moved:.0} of {now:.0} ns/s to other CPUs"),
    );
    let left = change(&predicted, "profile balanced").map(|change| stolen(&change["outcome"]));
    let after = seen.get("after").json();
    let cpu = &after["cpus"][0];
    let measured = number(&cpu["stolen_ns"]) * 1e9 / number(&cpu["duration_ns"]).max(1.0);
    verdict.note(format!(
        "of {now:.0} ns/s, {left:?} were predicted to remain, and {measured:.0} did"
    ));
    let rows = cpu["interruptions"].as_array().map_or(0, |rows| {
        let programs = rows
            .iter()
            .filter(|row| row["class"] == "preemption" && row["name"] == "sh");
        programs.count()
    });
    verdict.equal("programs that still take the CPU", rows, 0);
    let later = seen.get("later").json();
    verdict.that(
        change(&later, "partition").is_none() && change(&later, "profile minimal").is_none(),
        "what is active is not predicted again".to_owned(),
    );
    verdict.status(seen, "refused", 2);
}

fn stolen(outcome: &Value) -> f64 {
    number(&outcome["stolen_ns_per_s"]["value"])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn change<'a>(prediction: &'a Value, name: &str) -> Option<&'a Value> {
    prediction["changes"]
        .as_array()?
        .iter()
        .find(|change| change["name"] == name)
}
