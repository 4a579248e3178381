//! Tests the parts of `measure` that need a real kernel. Isolated CPUs outside the caller's own set are measured
//! without being named. Every policy is granted where the kernel can grant it. Every activation is accounted for. The
//! kernel's system call tracer sees one sleep per wake-up and nothing else.

mod ends;
mod one_clock;
mod own_calls;

use crate::kernels::{ARM64, K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs with cgroup v1 and v2, where the sampler enters the partition in different ways, and on a real-time kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "measuring",
    about: "measure finds isolated CPUs, has every policy there, accounts for all, makes no other call, and ends well",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V1).within(300).emulated(),
            ScenarioCell::new(K7, CgroupLayout::V2).within(300).emulated(),
            ScenarioCell::new(K6_12_RT, CgroupLayout::V2).within(300).emulated(),
        ]
    },
    script,
    check,
};

/// The same with the arm64 binary; runs in `make dist`.
pub const ON_ARM64: Scenario = Scenario {
    name: "measuring_arm64",
    about: "the same with the arm64 binary and its counter",
    cells: || {
        vec![
            ScenarioCell::new(ARM64, CgroupLayout::V2)
                .on(super::foreign::VIRT)
                .within(300),
        ]
    },
    script,
    check,
};

/// Policies of the sampler, with the kernel's name and priority of each. The deadline policy is granted because CPU 3
/// is isolated alone.
const POLICIES: &[(&str, &str, u64)] = &[
    ("other", "other", 0),
    ("batch", "batch", 0),
    ("idle", "idle", 0),
    ("fifo:1", "fifo", 1),
    ("rr:99", "rr", 99),
    ("deadline:2ms/10ms", "deadline", 0),
];

/// The caller is pinned to CPU 0, so that neither its mask nor, on v1, its cpuset has CPU 3. `wait_recorded` waits until a file
/// that is written during the run has samples: the speed of a guest changes with the load of the host.
fn script(_: &ScenarioCell) -> String {
    let mut script = "wait_recorded() { wait_for 60 grep -q '\"recorded\":[1-9]' \"$1\"; }
rec apply quietcore apply --cpus 3 --json
rec isolated taskset -c 0 quietcore measure latency --interval 10ms --for 300ms --json
rec gaps taskset -c 0 quietcore measure noise --for 300ms --json
"
    .to_owned();
    script.push_str(one_clock::SCRIPT);
    for (policy, ..) in POLICIES {
        script.push_str(&format!(
            "rec policy-{policy} quietcore measure latency --policy {policy} --interval 10ms --for 100ms --json\n"
        ));
    }
    // A spinner with a higher priority than the sampler: wake-ups expected during that time must be counted as missed.
    script.push_str(
        "rec shared quietcore measure latency --cpus 1 --policy deadline:2ms/10ms --interval 10ms --for 100ms
(wait_recorded /run/late.json; lab-guest spin 1 fifo:50 1 >/dev/null) &
rec late quietcore measure latency --cpus 1 --policy fifo:1 --interval 1ms --for 4s --out /run/late.json --json
wait
",
    );
    script.push_str(own_calls::SCRIPT);
    script.push_str(ends::SCRIPT);
    script
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "apply", 0);
    for name in ["isolated", "gaps"] {
        let record = verdict.status(seen, name, 0);
        let result = record.json();
        verdict.equal(&format!("{name}: measured CPUs"), measured(&result), vec![3]);
        // CPU 3 was chosen because it is isolated, not because it is the default.
        verdict.that(
            record.stderr.contains("CPU 3 (isolated)"),
            format!("{name}: it says {}", record.stderr),
        );
        accounts(name, &result, verdict);
    }
    one_clock::check(seen, verdict);
    for (policy, name, priority) in POLICIES {
        let result = verdict.status(seen, &format!("policy-{policy}"), 0).json();
        accounts(policy, &result, verdict);
        let thread = first(&result);
        let had = (thread["policy"].as_str(), thread["priority"].as_u64());
        verdict.equal(
            &format!("{policy}: as the kernel has it"),
            had,
            (Some(*name), Some(*priority)),
        );
        verdict.equal(&format!("{policy}: due"), thread["expected"].as_u64(), Some(10));
    }
    let shared = verdict.status(seen, "shared", 4);
    verdict.that(
        shared.stderr.contains("scheduling domain"),
        format!("a deadline is refused without a word why: {}", shared.stderr),
    );
    late(&verdict.status(seen, "late", 0).json(), verdict);
    own_calls::check(cell, seen, verdict);
    ends::check(seen, verdict);
}

/// Checks a sampler that did not get its CPU: no expected wake-up is lost, and the schedule has those that the samples
/// lack.
fn late(result: &Value, verdict: &mut ScenarioVerdict) {
    accounts("late", result, verdict);
    let thread = first(result);
    let [expected, recorded, missed] = ["expected", "recorded", "missed"].map(|field| thread[field].as_u64());
    verdict.equal("late: due in 4 s at 1 ms", expected, Some(4_000));
    verdict.that(
        missed.is_some_and(|missed| missed > 0),
        format!("{missed:?} missed beside a spinner above the sampler"),
    );
    let all = recorded.zip(missed).map(|(recorded, missed)| recorded + missed);
    verdict.equal(
        "late: activations in the schedule",
        thread["schedule"]["count"].as_u64(),
        all,
    );
    verdict.note(format!("{} of 4000 missed beside a spinner", missed.unwrap_or(0)));
}

fn threads(result: &Value) -> &[Value] {
    result["threads"].as_array().map_or(&[], Vec::as_slice)
}

fn first(result: &Value) -> Value {
    threads(result).first().cloned().unwrap_or_default()
}

fn measured(result: &Value) -> Vec<u64> {
    threads(result)
        .iter()
        .filter_map(|thread| thread["cpu"].as_u64())
        .collect()
}

fn has(result: &Value, finding: &str) -> bool {
    let findings = result["findings"].as_array();
    findings.into_iter().flatten().any(|note| note["id"] == finding)
}

/// Checks that every thread has samples, that every expected wake-up is accounted for, and that no sampler had a page
/// fault.
fn accounts(name: &str, result: &Value, verdict: &mut ScenarioVerdict) {
    verdict.that(!threads(result).is_empty(), format!("{name}: nothing was measured"));
    for thread in threads(result) {
        let number = |field: &str| thread[field].as_u64();
        let sum = number("recorded")
            .zip(number("missed"))
            .map(|(recorded, missed)| recorded + missed);
        verdict.that(sum.is_some(), format!("{name}: no counts in {}", thread["kind"]));
        verdict.equal(
            &format!("{name}: expected = recorded + missed"),
            number("expected"),
            sum,
        );
        verdict.that(
            number("recorded").is_some_and(|recorded| recorded > 0),
            format!("{name}: no sample on CPU {}", thread["cpu"]),
        );
        // A file that is written during the run does not have the count yet.
        verdict.that(
            thread["own"].is_null() || thread["own"]["page_faults"] == 0,
            format!("{name}: own page faults: {}", thread["own"]),
        );
    }
}
