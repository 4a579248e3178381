//! Tests `blame` of a program on a CPU in `nohz_full`, where the kernel reports each exit from and return to user mode.
//! Each system call and page fault of a known program is counted and has an end, and all of its kernel time is
//! accounted for.

use crate::kernels::{K6_1, K7};
use crate::records::{CommandRecord, GuestRecords};
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel with the first form of these events and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "blaming_inside",
    about: "blame -- COMMAND on a nohz_full CPU: gaps from user_exit to user_enter, system calls and faults with their ends",
    cells: || {
        [K6_1, K7]
            .map(|kernel| ScenarioCell::new(kernel, CgroupLayout::V2).on(TRACKED).within(480))
            .to_vec()
    },
    script,
    check,
};

const TRACKED: GuestShape = GuestShape {
    name: "nohz_full",
    boot: "nohz_full=2",
    ..USUAL
};

/// Numbers of system calls and page faults that the program causes.
const CALLS: u64 = 200;
const FAULTS: u64 = 150;

/// CPU 1 has no context tracking. In the last run a thread of higher priority preempts the program.
fn script(_: &ScenarioCell) -> String {
    format!(
        "rec nohz cat /sys/devices/system/cpu/nohz_full
rec inside quietcore blame --cpus 2 --json -- lab-guest asks {CALLS} {FAULTS}
rec text quietcore blame --cpus 2 -- lab-guest asks 20 20
rec plain quietcore blame --cpus 1 --json -- lab-guest asks {CALLS} {FAULTS}
lab-guest spin 2 other:0 120 >/dev/null &
victim=$!
(wait_for 60 sh -c 'grep -q 1 /sys/kernel/tracing/instances/quietcore-*/tracing_on'; sleep 2; lab-guest spin 2 fifo:20 1 >/dev/null) &
rec pid quietcore blame --cpus 2 --for 6s --pid $victim --json
kill $victim
wait
rec instances ls /sys/kernel/tracing/instances
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.equal("nohz_full", seen.get("nohz").text(), "2");
    let inside = checked_cpu(seen, "inside", "context_tracking", verdict);
    let faults = row(&inside, "own", "page fault");
    let fault_ns = number(&faults, "total_ns");
    verdict.that(
        number(&faults, "count") >= FAULTS && fault_ns >= number(&faults, "count") * 100,
        format!("faults have ends: {faults}"),
    );
    let call = row(&inside, "own", GETPPID);
    verdict.equal("calls", number(&call, "count"), CALLS);
    verdict.that(
        number(&call, "transition_ns") > 0 && number(&call, "total_ns") > number(&call, "transition_ns"),
        format!("calls reach from user mode to user mode: {call}"),
    );
    let stderr = seen.get("inside").stderr;
    let kernel_ns: u64 = stderr
        .lines()
        .find_map(|line| line.trim().parse().ok())
        .unwrap_or(u64::MAX);
    let own_ns: u64 = rows(&inside, "own").iter().map(|row| number(row, "total_ns")).sum();
    let all_ns = own_ns + number(&inside, "stolen_ns");
    // The kernel's own accounting is reported but not checked: it scales its samples to the total run time of the
    // process.
    verdict.note(format!(
        "{all_ns} ns in the kernel or stolen, {own_ns} of them its own; by the kernel's own account {kernel_ns} since its main began; {fault_ns} ns in {} faults, {} ns \
         unexplained of {} stolen in {} gaps",
        number(&faults, "count"),
        number(&inside, "unexplained_ns"),
        number(&inside, "stolen_ns"),
        number(&inside, "gaps"),
    ));
    let text = verdict.status(seen, "text", 0);
    verdict.that(
        text.text().contains("from user_exit to user_enter"),
        "the screen says where gaps come from",
    );
    let plain = checked_cpu(seen, "plain", "events", verdict);
    verdict.equal("calls on CPU 1", number(&row(&plain, "own", GETPPID), "count"), CALLS);
    verdict.equal(
        "time of faults on CPU 1",
        number(&row(&plain, "own", "page fault"), "total_ns"),
        0,
    );
    let pid = checked_cpu(seen, "pid", "context_tracking", verdict);
    let spun_ns = number(&row(&pid, "interruptions", "lab-guest"), "total_ns");
    verdict.that(
        spun_ns >= 500_000_000,
        format!("the spinning thread has its time: {spun_ns} ns"),
    );
    verdict.note(format!(
        "--pid: {} ns unexplained of {} stolen in {} gaps",
        number(&pid, "unexplained_ns"),
        number(&pid, "stolen_ns"),
        number(&pid, "gaps"),
    ));
    verdict.equal("instances left", seen.get("instances").text(), "");
}

const GETPPID: &str = "system call getppid (110)";

/// Checks the CPU of a report: its totals are consistent, no event was lost, and its gaps have the expected causes.
fn checked_cpu(seen: &GuestRecords, name: &str, gaps_from: &str, verdict: &mut ScenarioVerdict) -> Value {
    let record: CommandRecord = verdict.status(seen, name, 0);
    let cpu = record.json()["cpus"][0].clone();
    verdict.equal(&format!("{name}: lost events"), number(&cpu, "lost_events"), 0);
    verdict.equal(
        &format!("{name}: gaps come from"),
        cpu["gaps_from"].as_str(),
        Some(gaps_from),
    );
    verdict.equal(
        &format!("{name}: explained and unexplained"),
        number(&cpu, "explained_ns") + number(&cpu, "unexplained_ns"),
        number(&cpu, "stolen_ns"),
    );
    let sum: u64 = rows(&cpu, "interruptions")
        .iter()
        .map(|row| number(row, "total_ns"))
        .sum();
    verdict.equal(&format!("{name}: rows together"), sum, number(&cpu, "explained_ns"));
    cpu
}

fn rows(cpu: &Value, list: &str) -> Vec<Value> {
    cpu[list].as_array().cloned().unwrap_or_default()
}

fn row(cpu: &Value, list: &str, name: &str) -> Value {
    let mut rows = rows(cpu, list).into_iter();
    rows.find(|row| row["name"].as_str() == Some(name)).unwrap_or_default()
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}
