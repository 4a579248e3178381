//! Isolates a CPU and undoes it: after `apply` no movable task is left on the isolated CPU, and `undo` restores the
//! former state.

use super::boots;
use crate::kernels::{K5_10, K6_1, K6_1_RT, K6_12, K6_12_RT, K7, K7_RT};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs on every kernel, with each cgroup layout that it supports.
pub const SCENARIO: Scenario = Scenario {
    name: "apply_undo",
    about: "CPU 3 is isolated for real, housekeeping CPUs still balance, undo restores everything",
    cells,
    script,
    check,
};

/// One disk controller whose queues the kernel manages. The driver of another one is loaded after `apply` and creates
/// kernel threads and an interrupt.
const DISKS: GuestShape = GuestShape {
    modules: &["nvme"],
    later: &["ahci"],
    devices: &[
        "-blockdev",
        "null-co,node-name=n0,size=67108864",
        "-device",
        "nvme,drive=n0,serial=1",
    ],
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    let with = |kernel, layout| ScenarioCell::new(kernel, layout).on(DISKS).within(180);
    let mut cells = vec![
        with(K5_10, CgroupLayout::V1),
        with(K6_1, CgroupLayout::V1),
        with(K6_1, CgroupLayout::Hybrid),
    ];
    cells.push(with(K6_1_RT, CgroupLayout::V1));
    cells.extend([K6_1, K6_12, K6_12_RT, K7, K7_RT].map(|kernel| with(kernel, CgroupLayout::V2)));
    cells
}

fn script(cell: &ScenarioCell) -> String {
    boots::script(cell)
        + "populate
crowded spin_before lab-guest spin 3 other:0 2
state before
rec plan quietcore plan --cpus 3 --json
rec dry quietcore apply --cpus 3 --dry-run --json
state dry
same dry_same before dry
rec apply quietcore apply --cpus 3 --json
rec who lab-guest who 3
rec left lab left_on 3
rec domains cat /proc/schedstat
rec default cat /proc/irq/default_smp_affinity
rec workqueue cat /sys/devices/virtual/workqueue/cpumask
rec inspect quietcore inspect --json
lab-guest sleepers 4 newborn >/dev/null
load_later
rec born sh -c 'sleep 1; ps -o comm | grep -c scsi_eh'
rec who_later lab-guest who 3
rec left_later lab left_on 3
crowded spin quietcore run --cpus 3 -- lab-guest spin 3 other:0 2
rec undo quietcore undo --json
rec again quietcore undo --json
state after
same same before after
rec newborn lab masks_of newborn
rec journal ls /run/quietcore/journal
rec history quietcore history --json
"
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    boots::check(cell, seen, verdict);
    let plan = verdict.status(seen, "plan", 0).json();
    verdict.equal("plan: isolated", plan["isolated"].as_str(), Some("3"));
    verdict.equal("plan: housekeeping", plan["housekeeping"].as_str(), Some("0-2"));
    verdict.status(seen, "dry", 0);
    verdict.status(seen, "dry_same", 0);
    let apply = verdict.status(seen, "apply", 0).json();
    let entries = apply["entries"].as_array().map_or(0, Vec::len);
    verdict.that(entries >= 3, format!("apply reports {entries} entries"));
    let left = movable(&verdict.status(seen, "who", 0).stdout);
    verdict.that(
        left.is_empty(),
        format!("movable tasks may run on CPU 3: {}", left.join(", ")),
    );
    later(&verdict.status(seen, "who_later", 0).stdout, verdict);
    for name in ["left", "left_later"] {
        let left = verdict.status(seen, name, 0);
        let movable: Vec<&str> = left.stdout.lines().filter(|line| line.starts_with("movable")).collect();
        verdict.that(
            movable.is_empty(),
            format!("{name}: interrupts that could be moved from CPU 3: {movable:?}"),
        );
    }
    let threads = seen.get("born").text().parse::<u32>().unwrap_or(0);
    verdict.that(threads > 0, "the driver that came later made kernel threads");
    domains(&seen.get("domains").stdout, verdict);
    verdict.equal("default_smp_affinity", seen.get("default").text(), "7");
    verdict.equal("workqueue cpumask", seen.get("workqueue").text(), "7");
    let inspect = verdict.status(seen, "inspect", 0).json();
    let partitions = inspect["isolation"]["partitions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let ours = partitions.iter().find(|partition| partition["cpus"] == "3");
    let hierarchy = if cell.layout == CgroupLayout::V2 { "v2" } else { "v1" };
    verdict.equal(
        "inspect: hierarchy",
        ours.and_then(|it| it["hierarchy"].as_str()),
        Some(hierarchy),
    );
    // Per mille of the time. The number of switches is no measure on a real-time kernel, where the CPU's own timer and
    // RCU threads still run.
    let share = |name: &str| {
        let spin = seen.get(name).json();
        Some(spin["ran_ns"].as_u64()?.saturating_mul(1000) / spin["wall_ns"].as_u64()?.max(1))
    };
    let (crowded, alone) = (share("spin_before"), share("spin"));
    let spin = verdict.status(seen, "spin", 0).json();
    verdict.equal("the spinner's CPU", spin["cpu"].as_u64(), Some(3));
    verdict.that(
        crowded.is_some_and(|share| share < 900) && alone.is_some_and(|share| share > 980),
        format!("a spinner on CPU 3 beside twelve others had {crowded:?} per mille of it, isolated {alone:?}"),
    );
    verdict.note(format!(
        "a spinner had {} per mille of its CPU, was {}",
        alone.unwrap_or(0),
        crowded.unwrap_or(0)
    ));
    verdict.status(seen, "undo", 0);
    // Files of the driver that is loaded after `apply` do not exist before it.
    let brought = |line: &str| line.ends_with("is new") && (line.contains("/scsi_tmf_") || line.contains("/proc/irq/"));
    // An interrupt thread follows the CPU where its interrupt last fired. `undo` cannot restore that.
    let follows = |line: &str| line.starts_with("kthread ") && line.contains(": \"irq/");
    let same = seen.get("same");
    let changed: Vec<&str> = same
        .stdout
        .lines()
        .filter(|line| !brought(line) && !follows(line))
        .collect();
    verdict.that(
        matches!(same.status, 0 | 1) && changed.is_empty(),
        format!("state after undo: {changed:?}"),
    );
    let newborn = verdict
        .status(seen, "newborn", 0)
        .text()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    verdict.equal(
        "masks of tasks born while isolated",
        newborn.as_str(),
        "4 Cpus_allowed_list: 0-3",
    );
    verdict.that(seen.get("journal").status != 0, "no journal is left");
    verdict.status(seen, "history", 0);
    verdict.note(format!("{entries} entries"));
}

/// Names of the movable tasks in the output of `lab-guest who`.
pub fn movable(who: &str) -> Vec<String> {
    let tasks = who
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    tasks
        .filter(|task| task["movable"] == true)
        .map(|task| format!("{} {}", task["tid"], task["comm"]))
        .collect()
}

/// Checks tasks created after `apply`. A new kernel thread does not inherit the mask of kthreadd:
/// `__kthread_create_on_node` gives it the mask of the boot line. Since 7.0 this mask follows partitions. Kernel
/// threads are therefore only reported.
fn later(who: &str, verdict: &mut ScenarioVerdict) {
    let (threads, tasks): (Vec<String>, Vec<String>) =
        movable(who).into_iter().partition(|task| task.contains("scsi_eh"));
    verdict.that(
        tasks.is_empty(),
        format!("tasks born later may run on CPU 3: {}", tasks.join(", ")),
    );
    if !threads.is_empty() {
        verdict.note(format!("{} kernel threads born later may come to CPU 3", threads.len()));
    }
}

/// CPU 3 is in no scheduling domain. Each of CPUs 0 to 2 is in a domain that spans all three (`/proc/schedstat`).
fn domains(schedstat: &str, verdict: &mut ScenarioVerdict) {
    let mut cpu = None;
    let mut spans: [Vec<u64>; 4] = Default::default();
    for line in schedstat.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some(number) = first.strip_prefix("cpu") {
            cpu = number.parse::<usize>().ok();
        } else if first.starts_with("domain") {
            // Since 6.15 the domain's name precedes its mask.
            let span = words
                .take(2)
                .find_map(|word| u64::from_str_radix(&word.replace(',', ""), 16).ok());
            if let (Some(spans), Some(span)) = (cpu.and_then(|cpu| spans.get_mut(cpu)), span) {
                spans.push(span);
            }
        }
    }
    let [zero, one, two, three] = &spans;
    verdict.that(three.is_empty(), format!("CPU 3 is in scheduling domains {three:x?}"));
    let shared = [zero, one, two].iter().all(|spans| spans.contains(&0b111));
    verdict.that(
        shared,
        format!("housekeeping CPUs share a domain: {zero:x?} {one:x?} {two:x?}"),
    );
}
