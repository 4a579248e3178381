//! Tests `blame` on kernels with different events, different fields and different ways to run softirqs. It names the
//! thread that takes the CPU, the accounts add up to the nanosecond, and no trace is left afterwards.

use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel that does not report the senders of interrupts, on one that does, and on a real-time kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "blaming",
    about: "blame names the thread that takes a CPU, its tick, and no other thread; every nanosecond is accounted for",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V2).within(240),
            ScenarioCell::new(K7, CgroupLayout::V2).within(240),
            ScenarioCell::new(K6_12_RT, CgroupLayout::V2).within(240),
        ]
    },
    script,
    check,
};

/// The disturbance starts when the trace is running and the probe has had time to start, which can take seconds in an
/// emulator. It takes the CPU by priority, for a second of its own CPU time.
fn script(_: &ScenarioCell) -> String {
    "traced() { wait_for 60 sh -c 'grep -q 1 /sys/kernel/tracing/instances/quietcore-*/tracing_on'; sleep 4; }
(traced; lab-guest spin 2 fifo:20 1 >/dev/null) &
rec blame quietcore blame --cpus 2 --for 12s --json
wait
rec text quietcore blame --cpus 2 --for 1s
rec apply quietcore apply --cpus 2
rec isolated quietcore blame --cpus 2 --for 1s --json
rec undo quietcore undo
rec instances ls /sys/kernel/tracing/instances
"
    .to_owned()
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let result = verdict.status(seen, "blame", 0);
    let answer = result.json();
    let cpu = &answer["cpus"][0];
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap_or(0);
    let rows = cpu["interruptions"].as_array().cloned().unwrap_or_default();
    let sum: u64 = rows.iter().map(|row| number(row, "total_ns")).sum();
    verdict.equal("CPU", number(cpu, "cpu"), 2);
    verdict.equal("lost events", number(cpu, "lost_events"), 0);
    verdict.equal("rows together", sum, number(cpu, "explained_ns"));
    verdict.equal(
        "explained and unexplained",
        number(cpu, "explained_ns") + number(cpu, "unexplained_ns"),
        number(cpu, "stolen_ns"),
    );
    let of = |name: &str, class: &str| -> u64 {
        let named = |row: &&Value| row["name"].as_str() == Some(name) && row["class"].as_str() == Some(class);
        rows.iter().filter(named).map(|row| number(row, "total_ns")).sum()
    };
    let spun_ns = of("lab-guest", "preemption");
    verdict.that(
        spun_ns >= 500_000_000,
        format!(
            "the spinning thread has its time: {spun_ns} ns of {}",
            number(cpu, "stolen_ns")
        ),
    );
    verdict.that(
        rows.iter().any(|row| row["class"].as_str() == Some("tick")),
        "the tick is among them",
    );
    let foreign = |row: &&Value| {
        row["class"].as_str() == Some("preemption") && !matches!(row["name"].as_str(), Some("lab-guest" | "quietcore"))
    };
    let others: u64 = rows.iter().filter(foreign).map(|row| number(row, "total_ns")).sum();
    verdict.that(
        others <= spun_ns / 10,
        format!("no other thread is blamed for much: {others} ns"),
    );
    let absent: Vec<&str> = answer["absent_events"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    verdict.equal(
        "sends are reported",
        !absent.contains(&"ipi/ipi_send_cpu"),
        cell.kernel != K6_1,
    );
    let text = verdict.status(seen, "text", 0);
    verdict.that(text.text().starts_with("CPU 2: "), "the screen begins with the CPU");
    // The CPU of a partition takes no task from outside. The probe moves into the partition and leaves it before the
    // undo.
    verdict.status(seen, "apply", 0);
    let isolated = verdict.status(seen, "isolated", 0).json();
    let inside = &isolated["cpus"][0];
    verdict.equal("isolated CPU", number(inside, "cpu"), 2);
    verdict.that(
        number(inside, "duration_ns") >= 900_000_000,
        "the probe spins on the isolated CPU",
    );
    verdict.status(seen, "undo", 0);
    verdict.equal("instances left", seen.get("instances").text().to_owned(), String::new());
    verdict.note(format!(
        "{} of {} ns explained, {} rows",
        number(cpu, "explained_ns"),
        number(cpu, "stolen_ns"),
        rows.len()
    ));
}
