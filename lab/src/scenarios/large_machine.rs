//! Tests one large machine: 128 CPUs in four packages and eight memory nodes, with three packages isolated. Runs the
//! same on eight CPUs, so that the report shows how the time of `apply` grows.

use crate::kernels::{K6_12, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs on the kernel of Debian stable and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "large_machine",
    about: "128 CPUs in 4 packages and 8 nodes: 96 are isolated, checked, watched by blame, and undone exactly",
    cells,
    script,
    check,
};

const LARGE: GuestShape = GuestShape {
    name: "128-cpus",
    sockets: 4,
    cores: 16,
    threads: 2,
    nodes: &["0-15", "16-31", "32-47", "48-63", "64-79", "80-95", "96-111", "112-127"],
    memory_mib: 2048,
    ..USUAL
};

/// The same, with a sixteenth of the CPUs.
const SMALL: GuestShape = GuestShape {
    name: "8-cpus",
    sockets: 4,
    cores: 1,
    threads: 2,
    nodes: &["0", "1", "2", "3", "4", "5", "6", "7"],
    memory_mib: 1024,
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    [(K6_12, LARGE), (K7, LARGE), (K6_12, SMALL), (K7, SMALL)]
        .map(|(kernel, shape)| ScenarioCell::new(kernel, CgroupLayout::V2).on(shape).within(600))
        .to_vec()
}

/// The first package is for housekeeping.
fn isolated(cell: &ScenarioCell) -> String {
    let cpus = cell.shape.cpus();
    format!("{}-{}", cpus / 4, cpus - 1)
}

/// Two of the isolated CPUs: one of the second package, and the last.
fn watched(cell: &ScenarioCell) -> String {
    let cpus = cell.shape.cpus();
    format!("{},{}", cpus / 4 + 1, cpus - 1)
}

fn script(cell: &ScenarioCell) -> String {
    let (isolated, watched) = (isolated(cell), watched(cell));
    format!(
        "rec inspect quietcore inspect --json
state before
rec plan quietcore plan --cpus {isolated} --json
rec apply quietcore apply --cpus {isolated} --json
rec check quietcore check --json
rec blame quietcore blame --cpus {watched} --for 2s --json
rec undo quietcore undo --json
state after
same same before after
"
    )
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let cpus = cell.shape.cpus();
    let isolated = isolated(cell);
    let inspect = verdict.status(seen, "inspect", 0).json();
    let distinct = |field: &str| {
        let all = inspect["cpus"].as_array().into_iter().flatten();
        let values: std::collections::BTreeSet<Option<u64>> = all.map(|cpu| cpu[field].as_u64()).collect();
        values.len()
    };
    verdict.equal("inspect: CPUs", distinct("cpu"), cpus as usize);
    verdict.equal("inspect: packages", distinct("package"), 4);
    verdict.equal("inspect: nodes", distinct("node"), 8);
    let plan = verdict.status(seen, "plan", 0).json();
    verdict.equal("plan: isolated", plan["isolated"].as_str(), Some(isolated.as_str()));
    verdict.status(seen, "apply", 0);
    let checked = verdict.status(seen, "check", 0).json();
    let errors = checked["findings"].as_array().into_iter().flatten();
    let errors: Vec<&str> = errors
        .filter(|finding| finding["level"] == "error")
        .filter_map(|finding| finding["id"].as_str())
        .collect();
    verdict.that(errors.is_empty(), format!("check: {errors:?}"));
    let blame = verdict.status(seen, "blame", 0).json();
    let answers: Vec<u64> = blame["cpus"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|cpu| cpu["cpu"].as_u64())
        .collect();
    let expected = [u64::from(cpus / 4 + 1), u64::from(cpus - 1)];
    verdict.equal("blame: CPUs", answers, expected.to_vec());
    verdict.status(seen, "undo", 0);
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state after undo", same.text(), "");
    let ms = |name: &str| seen.get(name).ms;
    verdict.note(format!(
        "of {cpus} CPUs {isolated}: plan {} ms, apply {} ms, check {} ms, undo {} ms",
        ms("plan"),
        ms("apply"),
        ms("check"),
        ms("undo")
    ));
}
