//! Compares `predict --boot` with a real boot: the same load is watched without isolation, and after a boot with the
//! line that `plan` suggests.
//!
//! The times are those of an emulator, so only numbers of interruptions are compared. A class that the line must end
//! is a claim. Where a prediction and the measurement differ otherwise, the verdict notes both numbers. Those of work on
//! other CPUs differ anyway: a probe that nothing interrupts slows down the other CPUs of an emulator.

use crate::disk::PLAIN;
use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs on the oldest, a real-time and the newest kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "predicting_boots",
    about: "what predict --boot removes is gone after a boot with the suggested line, and what it keeps is still there",
    cells,
    script,
    check,
};

/// The disk of the system has a managed interrupt for each CPU. The other disk has one interrupt, and these kernels
/// route it to CPU 3 unless `irqaffinity=` forbids that.
const SHAPE: GuestShape = GuestShape {
    modules: &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "ahci", "sd_mod"],
    devices: &[
        "-blockdev",
        "null-co,node-name=d0,size=67108864,read-zeroes=on",
        "-device",
        "ide-hd,drive=d0",
    ],
    disk: Some(&PLAIN),
    ..USUAL
};

/// Kinds of interruptions that the boot line ends, with the most that may remain per second: the kernel may restart
/// the tick for a moment, and reports to RCU with it.
const GONE: [(&str, f64); 5] = [
    ("tick", 5.0),
    ("preemption", 0.0),
    ("device", 0.0),
    ("rcu", 5.0),
    ("soft_sched", 1.0),
];

/// The kind that the boot line does not affect: another CPU calls a function on all CPUs.
const STAYS: &str = "call_function";

fn cells() -> Vec<ScenarioCell> {
    [K6_1, K6_12_RT, K7]
        .map(|kernel| ScenarioCell::new(kernel, CgroupLayout::V2).on(SHAPE).within(240))
        .into()
}

/// The load starts when the trace has started, and ends with the trace: enabling kprobes and events on busy CPUs takes
/// an emulator most of a minute. A loop on the other CPUs changes the interval of machine check polls every 100
/// rounds, which restarts a timer on every CPU.
fn script(_: &ScenarioCell) -> String {
    r#"tracing() { grep -q 1 /sys/kernel/tracing/instances/quietcore-*/tracing_on 2>/dev/null; }
load() {
    wait_for 60 tracing
    for n in 1 2 3; do sh -c 'while :; do :; done' & done
    for n in 1 2; do
        sh -c "while :; do dd if=/dev/zero of=/write$n bs=4k count=4 conv=fsync; rm /write$n; done" 2>/dev/null &
    done
    sh -c 'while :; do dd if=/dev/zero of=/dev/sda bs=4k count=20 oflag=direct; sleep 0.02; done' 2>/dev/null &
    taskset -c 0-2 sh -c 'n=0; while :; do
        n=$((n + 1))
        [ $((n % 100)) = 0 ] && echo $((n / 100 % 2 + 301)) >/sys/devices/system/machinecheck/machinecheck0/check_interval
    done' &
    while tracing; do sleep 0.2; done
    kill $(jobs -p)
}
load &
rec watched quietcore blame --cpus 3 --for 5s --json --gaps /tmp/gaps
wait
rec cmdline cat /proc/cmdline
rec disk grep ahci /proc/interrupts
if [ $LAB_BOOT = 1 ]; then
    rec predicted quietcore predict --from /tmp/gaps --boot --json
    rec plan quietcore plan --cpus 3 --json
    words=$(quietcore plan --cpus 3 --json | sed -n 's/.*"boot_line":"\([^"]*\)".*/\1/p')
    rec line echo $(cat /proc/cmdline) $words
    again
fi
"#
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let plan = verdict.status(seen, "1/plan", 0).json();
    let words = plan["boot_line"].as_str().unwrap_or_default();
    let [first, second] = ["1/cmdline", "2/cmdline"].map(|name| seen.get(name));
    verdict.that(
        !words.is_empty() && second.text().ends_with(words) && !first.text().contains("isolcpus"),
        format!("{words} in {}, and not in {}", second.text(), first.text()),
    );
    let [before, after] =
        ["1/watched", "2/watched"].map(|name| verdict.status(seen, name, 0).json()["cpus"][0].clone());
    let predicted = verdict.status(seen, "1/predicted", 0).json()["changes"][0].clone();
    same_rows(&before, &predicted, verdict);
    disk_interrupts(seen, verdict);
    let rates = rates(&before, &after);
    for (kind, most) in GONE {
        let rate = rates.get(kind).copied().unwrap_or_default();
        let (removed, kept, measured) = (rate.removed, rate.kept, rate.measured);
        verdict.that(
            removed >= 1.0 && kept <= removed / 10.0,
            format!(
                "{kind}: {removed:.1} of {:.1} per second are predicted to go",
                removed + kept
            ),
        );
        verdict.that(
            measured <= most,
            format!("{kind}: {measured:.1} per second are left of {removed:.1}, at most {most} allowed"),
        );
    }
    let stays = rates.get(STAYS).copied().unwrap_or_default();
    verdict.that(
        stays.kept >= 1.0 && stays.measured > 0.0,
        format!(
            "{STAYS}: {:.1} per second are predicted to remain, and {:.1} do",
            stays.kept, stays.measured
        ),
    );
    note_numbers(&rates, verdict);
    note_gaps(&after, &predicted, verdict);
}

/// Claims that the interrupts of the second disk moved. They are counted since the boot, so they also show that the load
/// ran: while the probe spins without interruption, the emulator slows down the other CPUs.
fn disk_interrupts(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, is_isolated) in [("1/disk", false), ("2/disk", true)] {
        let row = verdict.status(seen, name, 0);
        let counts: Vec<u64> = row
            .text()
            .split_whitespace()
            .skip(1)
            .map_while(|word| word.parse().ok())
            .collect();
        let here = counts.get(3).copied();
        verdict.that(
            here.is_some_and(|count| (count == 0) == is_isolated) && counts.iter().sum::<u64>() > 100,
            format!("{name}: {here:?} on CPU 3 of {counts:?}"),
        );
    }
}

/// Interruptions per second of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct KindRates {
    /// Before, and predicted to go.
    removed: f64,
    /// Before, and predicted to remain.
    kept: f64,
    /// After the boot with the line.
    measured: f64,
}

fn rates(before: &Value, after: &Value) -> BTreeMap<String, KindRates> {
    let mut rates: BTreeMap<String, KindRates> = BTreeMap::new();
    for row in rows(before) {
        let rate = rates.entry(kind(row)).or_default();
        let sum = if is_removed(row) {
            &mut rate.removed
        } else {
            &mut rate.kept
        };
        *sum += per_s(&row["count"], before);
    }
    for row in rows(after) {
        rates.entry(kind(row)).or_default().measured += per_s(&row["count"], after);
    }
    rates
}

/// The class of a row. A kernel thread counts as what it does, and a function call by its vector.
fn kind(row: &Value) -> String {
    let [class, name] = ["class", "name"].map(|key| row[key].as_str().unwrap_or_default());
    let stem = name.split([':', '/']).next().unwrap_or_default();
    match (class, stem) {
        ("kernel_thread", "irq") => "device",
        ("soft_rcu", _) | ("kernel_thread", "rcuc") => "rcu",
        ("kernel_thread", "kworker") if name.starts_with("kworker/u") => "kworker/u",
        ("kernel_thread" | "function_call", stem) => stem,
        (class, _) => class,
    }
    .to_owned()
}

/// What ends a row, according to `blame`.
fn fix(row: &Value) -> &str {
    row["fix"].as_str().unwrap_or_default()
}

/// Whether only the boot line ends a row. The guest has no boot loader that `quietcore boot` can edit.
fn needs_boot(row: &Value) -> bool {
    fix(row).contains("parameters for the boot line")
}

/// Whether the boot line ends a row: alone, or like a partition, whose command is `apply` without further words.
fn is_removed(row: &Value) -> bool {
    needs_boot(row) || fix(row) == "quietcore apply --cpus 3"
}

/// Claims that `predict` removes the rows of [`is_removed`]. It reports their time that moves to other CPUs, which is
/// all but the ticks that stop and the load balancing that ends. One percent is for rare rows that only a partition ends.
fn same_rows(before: &Value, predicted: &Value, verdict: &mut ScenarioVerdict) {
    let moves = |row: &&Value| {
        let ends = if needs_boot(row) { "tick" } else { "soft_sched" };
        is_removed(row) && row["class"] != ends
    };
    let times = rows(before).filter(moves).map(|row| per_s(&row["total_ns"], before));
    let expected: f64 = times.sum();
    let moved = number(&predicted["moved_ns_per_s"]);
    verdict.that(
        moved > 0.0 && (moved - expected).abs() < expected / 100.0,
        format!("predict moves {moved:.0} ns/s, its rows have {expected:.0}"),
    );
}

/// Notes the totals, and each kind of which less than half or more than twice as many remain as predicted.
fn note_numbers(rates: &BTreeMap<String, KindRates>, verdict: &mut ScenarioVerdict) {
    let sum = |of: fn(&KindRates) -> f64| -> f64 { rates.values().map(of).sum() };
    verdict.note(format!(
        "interruptions per second: {:.1}, predicted to remain {:.1}, measured {:.1}",
        sum(|rate| rate.removed + rate.kept),
        sum(|rate| rate.kept),
        sum(|rate| rate.measured)
    ));
    for (kind, KindRates { kept, measured, .. }) in rates {
        let (less, more) = (kept.min(*measured), kept.max(*measured));
        if more - less > 1.0 && more > less * 2.0 {
            verdict.note(format!("miss: {kind}: predicted {kept:.1}, measured {measured:.1}"));
        }
    }
}

/// Notes the gaps. Most of them are the emulator's.
fn note_gaps(after: &Value, predicted: &Value, verdict: &mut ScenarioVerdict) {
    let estimate = &predicted["outcome"]["gap_rates"][0]["per_s"];
    let [value, low, high] = ["value", "low", "high"].map(|key| number(&estimate[key]));
    let measured = per_s(&after["gaps"], after);
    let result = if (low..=high).contains(&measured) { "" } else { "miss: " };
    verdict.note(format!(
        "{result}gaps per second: predicted {value:.0} ({low:.0} to {high:.0}), measured {measured:.0}"
    ));
}

fn rows(cpu: &Value) -> impl Iterator<Item = &Value> {
    cpu["interruptions"].as_array().into_iter().flatten()
}

fn per_s(sum: &Value, cpu: &Value) -> f64 {
    number(sum) * 1e9 / number(&cpu["duration_ns"])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}
