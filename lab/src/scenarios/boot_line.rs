//! Boots the line that `plan` suggests, on the kernel it was made for. The line takes effect, the kernel does not
//! complain, and `explain` knows everything that this kernel shows.

use crate::kernels::{K6_1, K6_12_RT, K7, LabKernel};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs on the oldest, a real-time and the newest kernel, with the profiles that stop the tick.
pub const SCENARIO: Scenario = Scenario {
    name: "boot_line",
    about: "suggested boot lines take effect: no tick, no default interrupts, no complaints; explain knows every row and thread",
    cells,
    script,
    check,
};

/// The line that `plan --cpus 3` suggests on these kernels, without the words that the profile adds. The check compares
/// it.
const BALANCED: &str = "isolcpus=managed_irq,domain,3 nohz_full=3 irqaffinity=0-2";

/// The same for the profile `strict`, before 6.12 and since.
const STRICT_OLD: &str =
    "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocb_poll skew_tick=1 workqueue.power_efficient=1 irqaffinity=0-2";
const STRICT: &str = "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocb_poll skew_tick=1 irqaffinity=0-2";

fn cells() -> Vec<ScenarioCell> {
    let cell = |kernel: LabKernel, name: &'static str, boot: &'static str| {
        let shape = GuestShape { name, boot, ..USUAL };
        ScenarioCell::new(kernel, CgroupLayout::V2).on(shape).within(240)
    };
    vec![
        cell(K6_1, "balanced", BALANCED),
        cell(K6_12_RT, "balanced", BALANCED),
        cell(K7, "balanced", BALANCED),
        cell(K6_1, "strict", STRICT_OLD),
        cell(K7, "strict", STRICT),
    ]
}

fn script(cell: &ScenarioCell) -> String {
    format!(
        "wait_for 5 test -e /proc/interrupts
rec isolated cat /sys/devices/system/cpu/isolated
rec nohz_full cat /sys/devices/system/cpu/nohz_full
rec default_affinity cat /proc/irq/default_smp_affinity
rec unknown sh -c 'dmesg | grep \"Unknown kernel command line parameters\"'
rec housekeeping sh -c 'dmesg | grep Housekeeping:'
rec explain quietcore explain --cmdline --json
rec boot_check quietcore boot check --json
rec again quietcore plan --cpus 3 --profile {profile} --json
lab-guest spin 2 other:0 30 >/dev/null &
echo 'nohz_full=2' >/tmp/line
echo 2 >/tmp/list
mount --bind /tmp/line /proc/cmdline
mount --bind /tmp/list /sys/devices/system/cpu/nohz_full
rec lie quietcore boot check --json
umount /proc/cmdline
umount /sys/devices/system/cpu/nohz_full
lab-guest spin 3 other:0 14 >/dev/null &
sleep 3
rec tick_before grep LOC: /proc/interrupts
sleep 10
rec tick_after grep LOC: /proc/interrupts
wait
names() {{
    sed -n 's/^ *\\([A-Za-z][A-Za-z0-9_]*\\):.*/\\1/p' /proc/interrupts /proc/softirqs
    for dir in /proc/[0-9]*; do readlink $dir/exe >/dev/null || cat $dir/comm; done
}}
names 2>/dev/null | sort -u >/tmp/names
rec names cat /tmp/names
while read -r name; do quietcore explain \"$name\" >/dev/null 2>&1 || echo \"$name\"; done </tmp/names >/tmp/unexplained
rec unexplained cat /tmp/unexplained
",
        profile = cell.shape.name
    )
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.equal("isolated", seen.get("isolated").text(), "3");
    verdict.equal("nohz_full", seen.get("nohz_full").text(), "3");
    verdict.equal("default_smp_affinity", seen.get("default_affinity").text(), "7");
    // No kernel knows the words of the lab itself (`lab.cgroup=`). Words of the suggested line must not be among the
    // unknown ones.
    let unknown = seen.get("unknown");
    for word in cell.shape.boot.split(' ') {
        let listed = unknown.text().contains(word);
        verdict.that(!listed, format!("the kernel does not know {word}: {}", unknown.text()));
    }
    verdict.equal("housekeeping messages", seen.get("housekeeping").text(), "");
    let explain = verdict.status(seen, "explain", 0).json();
    verdict.equal(
        "schema",
        explain["schema"].as_str().unwrap_or_default(),
        "quietcore.explain/1",
    );
    let loud: Vec<String> = explain["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["level"] != "info")
        .map(|finding| format!("{}: {}", finding["id"], finding["message"]))
        .collect();
    verdict.equal("what explain has against the line", loud, Vec::new());
    let log_read = explain["findings"]
        .as_array()
        .is_some_and(|all| all.iter().all(|finding| finding["id"] != "kernel-log-unreadable"));
    verdict.that(log_read, "explain could not read the kernel's log");
    every_answer(cell, seen, verdict);
    // With the whole line active, a reboot adds nothing.
    let plan = verdict.status(seen, "again", 0).json();
    verdict.that(
        plan["boot_line"].is_null(),
        format!("plan still suggests {}", plan["boot_line"]),
    );
    let ticks = |name: &str| -> Option<u64> { seen.get(name).text().split_whitespace().nth(4)?.parse().ok() };
    match (ticks("tick_before"), ticks("tick_after")) {
        (Some(before), Some(after)) => {
            let count = after.saturating_sub(before);
            verdict.that(count <= 50, format!("{count} ticks in 10 s on the isolated CPU"));
            verdict.note(format!("{count} ticks in 10 s"));
        }
        _ => verdict.that(false, "no LOC row of four CPUs"),
    }
    let names = seen.get("names");
    verdict.that(
        names.text().lines().count() > 40,
        format!("only {} rows and threads", names.text().lines().count()),
    );
    verdict.equal(
        "rows and threads that explain does not know",
        seen.get("unexplained").text(),
        "",
    );
}

/// `boot check` reports for each word of the line that it reached the kernel and was understood. For the tick, it also
/// counts.
fn every_answer(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    // A boot line and a file that claim what the kernel never did. The counted ticks reveal it.
    let lie = verdict.status(seen, "lie", 1).json();
    let one = &lie["parameters"][0];
    let truths = [&one["understood"]["truth"], &one["works"]["truth"]];
    verdict.that(truths == ["yes", "no"], format!("a lie was believed: {one}"));
    let report = verdict.status(seen, "boot_check", 0).json();
    verdict.equal("verdict", report["verdict"].as_str().unwrap_or_default(), "works");
    let parameters = report["parameters"].as_array().cloned().unwrap_or_default();
    for word in cell.shape.boot.split(' ') {
        let Some(one) = parameters.iter().find(|one| one["word"] == word) else {
            verdict.that(false, format!("boot check says nothing of {word}"));
            continue;
        };
        verdict.that(one["reached"]["truth"] == "yes", format!("not reached: {one}"));
        verdict.that(one["outcome"] == "works", format!("does not work: {one}"));
        if word.starts_with("isolcpus=") || word.starts_with("nohz_full=") {
            let truths = [&one["understood"]["truth"], &one["works"]["truth"]];
            verdict.that(truths == ["yes", "yes"], format!("not seen to work: {one}"));
        }
    }
}
