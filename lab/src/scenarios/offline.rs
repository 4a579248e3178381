//! Takes a CPU offline while it is traced, permanently or temporarily. The report covers the time until then and says
//! so, no command hangs, and no trace instance is left.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on an old kernel and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "offline",
    about: "a CPU goes offline while blame or trace record watches it: reported, answered until then, nothing left",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K6_1, CgroupLayout::V2).within(400),
        ScenarioCell::new(K7, CgroupLayout::V2).within(400),
    ]
}

/// The CPU goes offline some seconds after tracing starts, which can take that long in an emulator.
fn script(_: &ScenarioCell) -> String {
    const LOOP: &str = "-- sh -c 'while :; do :; done'";
    format!(
        "turn() {{ echo $2 >/sys/devices/system/cpu/cpu$1/online; }}
uptime_s() {{ cut -d' ' -f1 /proc/uptime; }}
traced() {{
    wait_for 60 sh -c 'grep -q 1 /sys/kernel/tracing/instances/quietcore-*/tracing_on'
    uptime_s >/tmp/on; sleep 4
}}
(traced; turn 3 0; uptime_s >/tmp/off) &
rec probe quietcore blame --cpus 3 --for 60s --json
wait; turn 3 1
note on $(cat /tmp/on)
note off $(cat /tmp/off)
(traced; turn 3 0) &
rec command quietcore blame --cpus 3 --for 12s --json {LOOP}
wait; turn 3 1
(traced; turn 3 0; sleep 1; turn 3 1) &
rec back quietcore blame --cpus 2-3 --for 12s --json {LOOP}
wait
(traced; turn 3 0) &
rec record quietcore trace record --cpus 3 --for 10s -o /tmp/trace.dat --json {LOOP}
wait; turn 3 1
rec read quietcore trace report /tmp/trace.dat
rec left sh -c 'ls /sys/kernel/tracing/instances | grep quietcore'
rec looping sh -c \"grep -l '[:]; done' /proc/[0-9]*/cmdline\"
"
    )
}

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

/// The trace may be on for a moment before the guest sees it, and a starved collector notices late that the CPU went offline.
const TOLERANCE_NS: u64 = 1_000_000_000;

/// Time from when the guest saw the trace of the probe until the CPU was offline; `None` if it did not record both.
fn online_ns(seen: &GuestRecords) -> Option<u64> {
    let uptime_s = |name: &str| seen.get(name).text().parse::<f64>().ok();
    let online_s = uptime_s("off")? - uptime_s("on")?;
    (online_s > 0.0).then_some((online_s * 1e9) as u64)
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["probe", "command", "back", "record"] {
        let result = verdict.status(seen, name, 1);
        let answer = result.json();
        let mut findings = answer["findings"].as_array().into_iter().flatten();
        let went = findings.find(|finding| finding["id"] == "cpu_went_offline");
        verdict.that(
            went.is_some_and(|went| went["subject"] == "cpus 3" && went["level"] == "error"),
            format!("{name}: what became of the CPU is said: {}", answer["findings"]),
        );
        verdict.that(
            result.stderr.contains("CPU 3 went offline"),
            format!("{name}: also to people: {}", result.stderr),
        );
        verdict.equal(
            &format!("{name}: it came back"),
            result.stderr.contains("CPU 3 is online again"),
            name == "back",
        );
    }
    for name in ["probe", "command", "back"] {
        let answer = seen.get(name).json();
        for cpu in answer["cpus"].as_array().into_iter().flatten() {
            let sum = number(cpu, "explained_ns") + number(cpu, "unexplained_ns");
            verdict.equal(&format!("{name}: the accounts"), number(cpu, "stolen_ns"), sum);
            verdict.equal(&format!("{name}: lost events"), number(cpu, "lost_events"), 0);
            // A probe also sees the time that the emulator takes, which no event shows and nothing bounds.
            if name != "probe" {
                verdict.that(
                    number(cpu, "unexplained_ns") <= 500_000_000,
                    format!("{name}: the time when the CPU was offline counts as stolen: {cpu}"),
                );
            }
        }
    }
    let probe = &seen.get("probe").json()["cpus"][0];
    let online_ns = online_ns(seen).unwrap_or_default();
    let duration_ns = number(probe, "duration_ns");
    verdict.that(
        (2_000_000_000..=online_ns + TOLERANCE_NS).contains(&duration_ns) && number(probe, "gaps") > 0,
        format!("the probe covers the {online_ns} ns until the CPU was offline: {probe}"),
    );
    verdict.that(
        number(probe, "stolen_ns") <= duration_ns,
        format!("no more was stolen than was watched: {probe}"),
    );
    let command = &seen.get("command").json()["cpus"][0];
    let runnable_ns = number(command, "wanted_ns");
    verdict.that(
        runnable_ns >= 2_000_000_000 && runnable_ns + 3_000_000_000 <= number(command, "duration_ns"),
        format!("the command wanted the CPU until then and not later: {command}"),
    );
    let record = seen.get("record").json();
    verdict.that(
        number(&record["cpus"][0], "recorded") > 0,
        format!("what came before is recorded: {}", record["cpus"]),
    );
    let read = verdict.status(seen, "read", 0);
    verdict.that(read.stdout.contains("[003]"), "and can be read");
    verdict.equal("instances left", seen.get("left").text(), "");
    verdict.equal("commands left", seen.get("looping").text(), "");
    verdict.note(format!(
        "the probe had {} ms of {} ms, the command {} ms of {} ms",
        number(probe, "duration_ns") / 1_000_000,
        online_ns / 1_000_000,
        runnable_ns / 1_000_000,
        number(command, "duration_ns") / 1_000_000
    ));
}
