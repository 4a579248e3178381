//! Tests what `measure` does that needs a real kernel and must not run on a shared machine: its tracers, tracefs
//! settings that are restored even after SIGKILL, clocks that are set, suspend, limits of an ordinary user.

use crate::kernels::{K6_1, K6_12_RT};
use crate::records::{CommandRecord, GuestRecords};
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel with the tracers and on one without.
pub const SCENARIO: Scenario = Scenario {
    name: "tracers",
    about: "measure: tracers of the kernel, --break with the user's own trace, jumping clocks, suspend, rlimits",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K6_12_RT, CgroupLayout::V2).within(240),
        ScenarioCell::new(K6_1, CgroupLayout::V2),
    ]
}

/// Of the Debian kernels, the real-time ones have these tracers.
fn has_tracers(cell: &ScenarioCell) -> bool {
    cell.kernel == K6_12_RT
}

/// The former settings differ from every default.
const TRACERS: &str = "cd /sys/kernel/tracing
echo 700 >osnoise/timerlat_period_us
echo 7 >tracing_thresh
cd /
settings before
rec timerlat quietcore measure latency --cpus 2-3 --for 1s --tracer timerlat --interval 5ms --json
rec osnoise quietcore measure noise --cpus 2-3 --for 1s --tracer osnoise --threshold 20us --json
rec broken quietcore measure latency --cpus 3 --for 60s --tracer timerlat --break 1ns --json
settings between
echo 100000 >/sys/kernel/tracing/osnoise/runtime_us
rec seldom quietcore measure noise --cpus 2 --for 2s --tracer osnoise --threshold 1s --json
echo 1000000 >/sys/kernel/tracing/osnoise/runtime_us
quietcore measure latency --cpus 3 --for 60s --tracer timerlat --quiet &
victim=$!
wait_for 30 grep -q timerlat /sys/kernel/tracing/instances/quietcore-$victim/current_tracer
rec second quietcore measure noise --cpus 2 --for 1s --tracer osnoise
kill -9 $victim
settings killed
rec undo quietcore undo
settings after
echo timerlat >/sys/kernel/tracing/current_tracer
rec foreign quietcore measure latency --cpus 3 --for 1s --tracer timerlat
echo nop >/sys/kernel/tracing/current_tracer
";

/// An intermediate result shows that the samplers are running. With `pm_test` the machine does everything of a suspend
/// except the last step, and resumes automatically.
const FAULTS: &str = "echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
rec limited sh -c 'ulimit -r 50; su -s /bin/sh nobody -c \"quietcore measure latency --cpus 3 --for 300ms --json\"'
rec granted sh -c 'ulimit -r 50; su -s /bin/sh nobody -c \"quietcore measure latency --cpus 3 --for 300ms --policy fifo:50 --json\"'
rec top quietcore measure latency --cpus 3 --for 60s --break 1ns --break-trace top --json
rec top-on cat /sys/kernel/tracing/tracing_on
rec top-marker grep -c quietcore: /sys/kernel/tracing/trace
(wait_for 30 test -s /tmp/forward; date -s @$(($(date +%s) + 3600))) >/dev/null &
rec forward quietcore measure latency --cpus 3 --for 3s --clock realtime --json --out /tmp/forward
(wait_for 30 test -s /tmp/back; date -s @$(($(date +%s) - 3600))) >/dev/null &
rec back quietcore measure latency --cpus 3 --for 3s --clock realtime --json --out /tmp/back
echo 1 >/sys/module/suspend/parameters/pm_test_delay
echo core >/sys/power/pm_test
(wait_for 30 test -s /tmp/suspended; echo mem >/sys/power/state) &
rec suspended quietcore measure latency --cpus 3 --for 5s --json --out /tmp/suspended
";

fn script(cell: &ScenarioCell) -> String {
    let settings = "settings() { (cd /sys/kernel/tracing; rec $1 head -n1 osnoise/cpus osnoise/*_us tracing_thresh instances/*/tracing_on); }\n";
    match has_tracers(cell) {
        true => format!("{settings}{TRACERS}{FAULTS}"),
        false => "rec timerlat quietcore measure latency --cpus 3 --for 1s --tracer timerlat
rec osnoise quietcore measure noise --cpus 3 --for 1s --tracer osnoise
umount /sys/kernel/tracing
umount /sys/kernel/debug
rec unmounted quietcore measure latency --cpus 3 --for 60s --break 1ns --trace-out /tmp/trace --json
rec marker grep -c quietcore: /tmp/trace
rec instances sh -c 'mount -t tracefs trace /sys/kernel/tracing; ls /sys/kernel/tracing/instances'
"
        .to_owned(),
    }
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    match has_tracers(cell) {
        true => {
            traced(seen, verdict);
            restored(seen, verdict);
            faults(seen, verdict);
        }
        false => {
            for (name, config) in [
                ("timerlat", "CONFIG_TIMERLAT_TRACER"),
                ("osnoise", "CONFIG_OSNOISE_TRACER"),
            ] {
                let result = verdict.status(seen, name, 4);
                verdict.that(
                    result.stderr.contains(config),
                    format!("names {config}: {}", result.stderr),
                );
            }
            verdict.status(seen, "unmounted", 1);
            verdict.equal("markers", text_of(seen, "marker"), "1".to_owned());
            verdict.equal("instances left", text_of(seen, "instances"), String::new());
        }
    }
}

fn text_of(seen: &GuestRecords, name: &str) -> String {
    seen.get(name).text().to_owned()
}

fn finding(record: &CommandRecord, id: &str) -> Option<Value> {
    let result = record.json();
    let findings = result["findings"].as_array()?;
    findings.iter().find(|note| note["id"] == id).cloned()
}

fn number(thread: &Value, name: &str) -> u64 {
    thread[name].as_u64().unwrap_or(u64::MAX / 4)
}

/// Checks that every thread has samples and that its account is consistent.
fn accounted(record: &CommandRecord, name: &str, verdict: &mut ScenarioVerdict) {
    let result = record.json();
    let threads = result["threads"].as_array().cloned().unwrap_or_default();
    verdict.that(!threads.is_empty(), format!("{name}: has threads"));
    for thread in &threads {
        let counts = ["expected", "recorded", "missed"].map(|part| number(thread, part));
        verdict.that(
            counts[0] == counts[1] + counts[2] && counts[1] > 0,
            format!("{name}: expected, recorded, missed are {counts:?}"),
        );
    }
}

fn traced(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let timerlat = verdict.status(seen, "timerlat", 0);
    let result = timerlat.json();
    accounted(&timerlat, "timerlat", verdict);
    verdict.equal("method", result["method"].as_str(), Some("timerlat"));
    for thread in result["threads"].as_array().into_iter().flatten() {
        let expected = number(thread, "expected");
        verdict.that(
            (190..=201).contains(&expected),
            format!("{expected} due in 1 s every 5 ms"),
        );
        verdict.equal("priority", thread["priority"].as_u64(), Some(95));
        verdict.that(
            thread["irq"]["count"].as_u64() > Some(0),
            "the timer's interrupts are there",
        );
        let parts = [&thread["irq"]["min_ns"], &thread["min_ns"]].map(Value::as_u64);
        verdict.that(
            parts[0] < parts[1],
            format!("the interrupt comes before the thread: {parts:?}"),
        );
    }
    let osnoise = verdict.status(seen, "osnoise", 0);
    accounted(&osnoise, "osnoise", verdict);
    let result = osnoise.json();
    for thread in result["threads"].as_array().into_iter().flatten() {
        verdict.that(
            number(thread, "min_ns") >= 20_000 && number(thread, "stolen_ns") < 1_000_000_000,
            format!("gaps of 20 us and more, within a second: {}", thread["stolen_ns"]),
        );
    }
    let seldom = verdict.status(seen, "seldom", 1);
    let note = finding(&seldom, "tracer_silent").unwrap_or_default();
    verdict.that(
        note["message"].to_string().contains("gaps in the rest were not found"),
        format!("a thread that sleeps most of the time is reported: {note}"),
    );
    let broken = verdict.status(seen, "broken", 1);
    verdict.that(
        broken.json()["broke"]["value_ns"].as_u64() > Some(0),
        "a sample ended it",
    );
}

fn restored(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let before = verdict.status(seen, "before", 1);
    verdict.that(before.stdout.contains("700"), "the settings were made");
    verdict.equal(
        "settings afterwards",
        text_of(seen, "between"),
        before.text().to_owned(),
    );
    let killed = seen.get("killed").stdout;
    verdict.that(
        killed.contains("1000\n") && killed.contains("instances/quietcore-"),
        format!("SIGKILL leaves them changed: {killed}"),
    );
    verdict.status(seen, "undo", 0);
    verdict.equal("settings after undo", text_of(seen, "after"), before.text().to_owned());
    for (name, word) in [("second", "instances/quietcore-"), ("foreign", "/sys/kernel/tracing")] {
        let result = verdict.status(seen, name, 5);
        verdict.that(result.stderr.contains(word), format!("{name}: {}", result.stderr));
    }
}

fn faults(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let limited = verdict.status(seen, "limited", 0);
    let note = finding(&limited, "policy_refused").unwrap_or_default();
    let (message, fix) = (note["message"].to_string(), note["fix"].to_string());
    verdict.that(
        message.contains("RLIMIT_RTPRIO of 80, which is 50") && fix.contains("priority 50 at most"),
        format!("{message} {fix}"),
    );
    let granted = verdict.status(seen, "granted", 0);
    verdict.equal("granted", granted.json()["threads"][0]["priority"].as_u64(), Some(50));
    let top = verdict.status(seen, "top", 1);
    verdict.that(
        finding(&top, "trace_frozen").is_some(),
        "the user's trace is frozen, and that is said",
    );
    verdict.equal("tracing_on", text_of(seen, "top-on"), "0".to_owned());
    verdict.equal("markers", text_of(seen, "top-marker"), "1".to_owned());
    for (name, way) in [("forward", "forward"), ("back", "back")] {
        let jump = verdict.status(seen, name, 1);
        accounted(&jump, name, verdict);
        let note = finding(&jump, "clock_jumped").unwrap_or_default();
        verdict.that(
            note["message"].to_string().contains(way) && note["level"] == "error",
            format!("{name}: {note}"),
        );
    }
    let suspended = verdict.status(seen, "suspended", 0);
    accounted(&suspended, "suspended", verdict);
    let thread = &suspended.json()["threads"][0];
    let slept = finding(&suspended, "suspended").is_some();
    verdict.that(
        slept || number(thread, "max_ns") >= 1_000_000_000,
        format!(
            "a second of suspend is reported, or a wake-up as late as that: {}",
            thread["max_ns"]
        ),
    );
}
