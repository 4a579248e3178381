//! Takes a CPU offline during `apply`, and between `apply` and `undo`: first a CPU of the partition, then another. All
//! messages must be true, and once the CPU is online again the state is as before. Also takes a CPU offline during a
//! measurement: the result keeps its data and reports the event.

use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Kernels differ: with v1 cpusets shrink and stay so. With v2, 6.1 does not widen masks again, and 7.2 mostly does.
pub const SCENARIO: Scenario = Scenario {
    name: "hotplug",
    about: "a CPU goes offline during apply or before undo; undo names it, and is exact when it is back",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind().map(|cell| cell.within(600)).to_vec()
}

/// The CPUs that go offline.
const OFFLINED_CPUS: &[(&str, u32)] = &[("isolated", 3), ("housekeeping", 1)];

fn script(cell: &ScenarioCell) -> String {
    // Every kernel tests different calls.
    let offset = 4 + u32::try_from(cell.kernel.id.len()).unwrap_or(0) * 3;
    let mut script = "populate
turn() { echo $2 >/sys/devices/system/cpu/cpu$1/online; }
"
    .to_owned();
    if cell.layout == CgroupLayout::V1 {
        script.push_str(FOREIGN_SET);
    }
    for (name, cpu) in OFFLINED_CPUS {
        script.push_str(&format!(
            "state before
quietcore apply --cpus 3 --quiet
turn {cpu} 0
turn {cpu} 1
rec {name}_back quietcore undo --quiet
state after
same same_{name}_back before after
quietcore apply --cpus 3 --quiet
turn {cpu} 0
rec {name}_undo quietcore undo --json
turn {cpu} 1
rec {name}_again quietcore undo --quiet
state after
same same_{name} before after
"
        ));
    }
    for (name, cpu) in OFFLINED_CPUS {
        script.push_str(&format!(
            "rec {name}_meanwhile lab-guest meanwhile 'echo 0 >/sys/devices/system/cpu/cpu{cpu}/online' 19 {offset} \
             -- quietcore apply --cpus 3 --quiet \
             -- sh -c 'echo 1 >/sys/devices/system/cpu/cpu{cpu}/online; quietcore undo'\n"
        ));
    }
    for kind in KINDS {
        script.push_str(&format!(
            "(wait_for 60 test -s /tmp/{kind}.json; turn 3 0) &
rec {kind} quietcore measure {kind} --cpus 3 --for 60s --json --out /tmp/{kind}.json
turn 3 1
"
        ));
    }
    script
}

/// The measurements during which the CPU goes offline.
const KINDS: &[&str] = &["latency", "noise", "all"];

/// A foreign cpuset with programs inside. Hotplug permanently removes the CPU from it.
const FOREIGN_SET: &str = "mkdir /sys/fs/cgroup/cpuset/foreign
echo 2-3 >/sys/fs/cgroup/cpuset/foreign/cpuset.cpus
echo 0 >/sys/fs/cgroup/cpuset/foreign/cpuset.mems
foreign=$(lab-guest sleepers 2 foreign)
for pid in $foreign; do echo $pid >/sys/fs/cgroup/cpuset/foreign/tasks; done
";

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, cpu) in OFFLINED_CPUS {
        verdict.status(seen, &format!("{name}_back"), 0);
        let undone = verdict.status(seen, &format!("{name}_undo"), 5).json();
        let failed = undone["failed"].to_string();
        verdict.that(
            failed.contains(&format!("CPU {cpu} was online before and is not now")),
            format!("{name}: undo names the CPU: {failed}"),
        );
        verdict.status(seen, &format!("{name}_again"), 0);
        for same in [format!("same_{name}_back"), format!("same_{name}")] {
            let found = verdict.status(seen, &same, 0);
            verdict.equal(&same, found.text(), "");
        }
        let during_name = format!("{name}_meanwhile");
        super::sigkill_anywhere::swept(seen, &during_name, 3, verdict);
        // `apply` succeeds, succeeds with an error finding, or is undone. It never ends by a signal or an internal
        // error.
        let statuses = seen.get(&during_name).json()["statuses"].clone();
        let strange: Vec<String> = statuses
            .as_object()
            .into_iter()
            .flatten()
            .map(|(status, _)| status.clone())
            .filter(|status| !["0", "1", "4"].contains(&status.as_str()))
            .collect();
        verdict.that(strange.is_empty(), format!("{during_name}: exit statuses {statuses}"));
    }
    for kind in KINDS {
        check_offline_measurement(kind, seen, verdict);
    }
}

/// Checks a measurement whose CPU went offline: an error, part of the samples, consistent counters.
fn check_offline_measurement(kind: &str, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let result = verdict.status(seen, kind, 1).json();
    verdict.that(
        result["complete"] == false,
        format!("{kind}: it is not complete: {}", result["complete"]),
    );
    let mut findings = result["findings"].as_array().into_iter().flatten();
    let offline_finding = findings.find(|finding| finding["id"] == "cpu_went_offline");
    verdict.that(
        offline_finding.is_some_and(|finding| finding["level"] == "error" && finding["subject"] == "cpus 3"),
        format!("{kind}: what became of the CPU is an error: {}", result["findings"]),
    );
    let short = result["duration_ns"]
        .as_u64()
        .is_some_and(|ns| (1..60_000_000_000).contains(&ns));
    verdict.that(
        short,
        format!("{kind}: it ended early, after {}", result["duration_ns"]),
    );
    let threads = result["threads"].as_array().map_or(&[][..], Vec::as_slice);
    verdict.that(!threads.is_empty(), format!("{kind}: there are threads"));
    for thread in threads {
        let number = |name: &str| thread[name].as_u64().unwrap_or(u64::MAX);
        verdict.that(
            number("recorded") > 0 && number("expected") == number("recorded").saturating_add(number("missed")),
            format!("{kind}: samples until then, all accounted for: {}", thread["expected"]),
        );
    }
}
