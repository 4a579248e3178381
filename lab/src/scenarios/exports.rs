//! Tests the shell export, which works without quietcore: apply, status and undo under busybox, with a kill in the
//! middle and with changes by another program in between.

use super::apply_undo::movable;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2, on the oldest kernel that supports isolated partitions and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "exports",
    about: "the shell export isolates CPU 3 under busybox and restores the former state",
    cells,
    script,
    check,
};

/// A disk with interrupts that cannot be moved.
const DISK: GuestShape = GuestShape {
    modules: &["nvme"],
    devices: &[
        "-blockdev",
        "null-co,node-name=n0,size=67108864",
        "-device",
        "nvme,drive=n0,serial=1",
    ],
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    let cells = [
        (K6_1, CgroupLayout::V1),
        (K6_1, CgroupLayout::V2),
        (K7, CgroupLayout::V2),
    ];
    cells
        .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).on(DISK).within(400))
        .into()
}

/// Milliseconds after which `apply` is killed. The last is after its end even on a slow host, most are before.
const KILLED_AFTER_MS: [u32; 6] = [100, 300, 600, 1000, 1500, 2500];

/// Milliseconds after which `undo` is killed. The next `undo` finishes the job.
const UNDO_KILLED_AFTER_MS: [u32; 2] = [300, 900];

fn script(cell: &ScenarioCell) -> String {
    let partition = match cell.layout {
        CgroupLayout::V2 => "/sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition",
        _ => "/sys/fs/cgroup/cpuset/rt/cpuset.sched_load_balance",
    };
    let mut text = format!(
        "populate
state before
rec export quietcore plan --cpus 3 --profile strict --format shell --out /tmp
rec not_applied sh /tmp/isolate-rt.sh status
rec apply sh /tmp/isolate-rt.sh apply
rec who lab-guest who 3
rec left lab left_on 3
rec partition cat {partition}
rec default cat /proc/irq/default_smp_affinity
rec workqueue cat /sys/devices/virtual/workqueue/cpumask
rec status sh /tmp/isolate-rt.sh status
rec again sh /tmp/isolate-rt.sh apply
lab-guest sleepers 4 newborn >/dev/null
rec undo sh /tmp/isolate-rt.sh undo
state after
same same before after
rec newborn lab masks_of newborn
rec left_behind ls /run/quietcore-script-rt
"
    );
    for ms in KILLED_AFTER_MS {
        text.push_str(&format!(
            "sh /tmp/isolate-rt.sh apply 2>/dev/null & apply=$!
usleep {ms}000; kill -9 $apply; wait $apply
rec undo_{ms} sh /tmp/isolate-rt.sh undo
state killed
same same_{ms} before killed
"
        ));
    }
    for ms in UNDO_KILLED_AFTER_MS {
        text.push_str(&format!(
            "sh /tmp/isolate-rt.sh apply
sh /tmp/isolate-rt.sh undo 2>/dev/null & undo=$!
usleep {ms}000; kill -9 $undo; wait $undo
rec finished_{ms} sh /tmp/isolate-rt.sh undo
state finished
same same_undo_{ms} before finished
"
        ));
    }
    text.push_str(
        "sh /tmp/isolate-rt.sh apply
echo 1 >/proc/irq/default_smp_affinity
rec drift sh /tmp/isolate-rt.sh undo
rec drifted cat /proc/irq/default_smp_affinity
echo 0 >/sys/devices/system/cpu/cpu2/online
rec other_machine sh /tmp/isolate-rt.sh apply
",
    );
    text
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "export", 0);
    verdict.status(seen, "not_applied", 3);
    verdict.status(seen, "apply", 0);
    let left = movable(&verdict.status(seen, "who", 0).stdout);
    verdict.that(
        left.is_empty(),
        format!("movable tasks may run on CPU 3: {}", left.join(", ")),
    );
    let left = verdict.status(seen, "left", 0);
    let left: Vec<&str> = left.stdout.lines().filter(|line| line.starts_with("movable")).collect();
    verdict.that(
        left.is_empty(),
        format!("interrupts that could be moved from CPU 3: {left:?}"),
    );
    let partition = if cell.layout == CgroupLayout::V2 {
        "isolated"
    } else {
        "0"
    };
    verdict.equal("the partition", seen.get("partition").text(), partition);
    verdict.equal("default_smp_affinity", seen.get("default").text(), "7");
    verdict.equal("workqueue cpumask", seen.get("workqueue").text(), "7");
    verdict.status(seen, "status", 0);
    verdict.status(seen, "again", 5);
    verdict.status(seen, "undo", 0);
    same(seen, "same", verdict);
    let newborn = verdict.status(seen, "newborn", 0);
    let newborn = newborn.text().split_whitespace().collect::<Vec<_>>().join(" ");
    verdict.equal(
        "masks of tasks born while isolated",
        newborn.as_str(),
        "4 Cpus_allowed_list: 0-3",
    );
    verdict.that(seen.get("left_behind").status != 0, "nothing is left below /run");
    for ms in KILLED_AFTER_MS {
        verdict.status(seen, &format!("undo_{ms}"), 0);
        same(seen, &format!("same_{ms}"), verdict);
    }
    for ms in UNDO_KILLED_AFTER_MS {
        verdict.status(seen, &format!("finished_{ms}"), 0);
        same(seen, &format!("same_undo_{ms}"), verdict);
    }
    verdict.status(seen, "drift", 5);
    verdict.equal("what somebody else set", seen.get("drifted").text(), "1");
    verdict.status(seen, "other_machine", 4);
}

/// Checks that nothing differs, except the CPU of interrupt threads, which follow the CPU where their interrupt last
/// fired.
fn same(seen: &GuestRecords, name: &str, verdict: &mut ScenarioVerdict) {
    let follows = |line: &&str| line.starts_with("kthread ") && line.contains(": \"irq/");
    let same = seen.get(name);
    let changed: Vec<&str> = same.stdout.lines().filter(|line| !follows(line)).collect();
    verdict.that(
        matches!(same.status, 0 | 1) && changed.is_empty(),
        format!("{name}: not as before: {changed:?}"),
    );
}
