//! Tests every knob that is a file, on real kernels: applied by profile and by name, visible in the files and in the
//! kernel's behaviour, and undone.

mod expected;

use super::apply_undo::movable;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;
use expected::{BALANCED, BY_NAME, ExpectedFile, STRICT, files};
use std::collections::BTreeMap;

/// Runs with cgroup v1 and v2, on a real-time kernel and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "knobs",
    about: "all knobs of balanced, of strict and by name do what they say, and undo gives everything back",
    cells,
    script,
    check,
};

/// Two cores with two threads each, so that CPU 3 has a sibling (2); a disk with one ordinary interrupt; RCU callbacks
/// of CPU 3 run in threads.
const THREADS: GuestShape = GuestShape {
    name: "threads",
    sockets: 1,
    cores: 2,
    threads: 2,
    modules: DISK.modules,
    devices: DISK.devices,
    boot: "rcu_nocbs=3",
    ..USUAL
};

/// A disk with one ordinary interrupt.
pub(super) const DISK: GuestShape = GuestShape {
    name: "disk",
    modules: &["ahci", "sd_mod"],
    devices: &[
        "-blockdev",
        "null-co,node-name=d0,size=67108864,read-zeroes=on",
        "-device",
        "ide-hd,drive=d0",
    ],
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind()
        .map(|cell| cell.on(THREADS).within(480))
        .to_vec()
}

/// Makes an untuned machine: every knob that is a file has a disturbing value, if the guest has the file. `$irq` is the
/// disk's interrupt.
pub(super) const DISTURBED: &str = "populate
ifconfig lo 127.0.0.1 up
wait_for 10 test -b /dev/sda
echo 8 >/sys/class/net/lo/queues/rx-0/rps_cpus
echo 64 >/sys/class/net/lo/queues/rx-0/rps_flow_cnt
echo 0 >/proc/sys/kernel/timer_migration
echo 1 >/sys/kernel/rcu_expedited
echo 1 >/sys/kernel/mm/ksm/run
for file in /proc/sys/kernel/numa_balancing /sys/kernel/mm/transparent_hugepage/khugepaged/defrag; do
    [ -w $file ] && echo 1 >$file
done
[ -w /sys/kernel/mm/transparent_hugepage/enabled ] && echo always >/sys/kernel/mm/transparent_hugepage/enabled
irq=$(awk '/ahci/{sub(\":\", \"\", $1); print $1; exit}' /proc/interrupts)
";

/// Errors in a command line, which must be detected before any change.
const WRONG: &[(&str, &str)] = &[
    ("no_knob", "--with rq_afinity"),
    ("no_value", "--with rq_affinity=7"),
    ("no_interrupt", "--irq-here 'ahci*' --irq-here nosuch"),
    ("needed", "--without cpuset_partition"),
    ("both", "--with stat_interval --without stat_interval"),
];

/// Explicitly requested: every knob outside the profiles, and values for some inside one.
const NAMED: &str = "--with watchdog --with nmi_watchdog --with check_interval --with sched_rt_runtime_us \
                     --with fair_server --with ext_server --with cpu_offline --with xps_cpus --with no_turbo \
                     --with pm_qos_resume_latency_us=n/a --with transparent_hugepage=never --without rq_affinity";

fn script(_: &ScenarioCell) -> String {
    let files = files().join("\n");
    let mut script = format!(
        "cat >/tmp/files <<'END'
{files}
END
values() {{ rec \"$1\" sh -c 'while read -r file; do [ -r $file ] && echo \"$file=$(cat $file)\"; done </tmp/files'; }}
softirqs() {{ rec \"$1\" grep BLOCK /proc/softirqs; }}
packets() {{ rec \"$1\" cat /proc/net/softnet_stat; }}
far() {{ rec \"$1\" awk '/^cpu: /{{cpu=$2}} $6 == \"[in\" && $7 > 4e13 {{print cpu}}' /proc/timer_list; }}
timers() {{ rec \"$1\" awk '/^cpu: /{{cpu=$2}} /watchdog_timer_fn/{{print cpu}}' /proc/timer_list; }}
# Reads of the disk from CPU 1, and packets to ourselves, between two looks at the counters.
work() {{
    softirqs \"$1_0\"
    packets \"$1_packets_0\"
    taskset -c 1 dd if=/dev/sda of=/dev/null bs=4k count=200 iflag=direct 2>/dev/null
    n=0; while [ $n -lt 60 ]; do ping -c 1 -W 1 127.0.0.1 >/dev/null; n=$((n + 1)); done
    softirqs \"$1_1\"
    packets \"$1_packets_1\"
}}
"
    );
    script.push_str(DISTURBED);
    script.push_str(
        "echo 3 >/proc/irq/$irq/smp_affinity_list
work free
echo 0-3 >/proc/irq/$irq/smp_affinity_list
timers timers_free
values values_free
state before
",
    );
    for (name, arguments) in WRONG {
        script.push_str(&format!("rec wrong_{name} quietcore apply --cpus 3 {arguments}\n"));
    }
    script.push_str(&format!(
        "state wrong
same same_wrong before wrong

rec plan quietcore plan --cpus 3 --irq-here 'ahci*' --json
rec balanced quietcore apply --cpus 3 --irq-here 'ahci*' --json
values values_balanced
timers timers_balanced
rec who lab-guest who 3
rec irq cat /proc/irq/$irq/smp_affinity_list
work balanced
state held
rec again quietcore apply --cpus 3 --irq-here 'ahci*' --json
rec other quietcore apply --cpus 3 --irq-here 'ahci*' --with stat_interval=60
state still
same same_again held still
rec undo_balanced quietcore undo --json
state after
same same_balanced before after

rec rule quietcore apply --cpus 3 --irq-here 'ahci*' --without rq_affinity
work rule
rec undo_rule quietcore undo

rec strict quietcore apply --cpus 3 --profile strict --json
values values_strict
echo 50 >/proc/sys/vm/stat_interval
rec undo_drift quietcore undo
rec left cat /proc/sys/vm/stat_interval
rec undo_force quietcore undo --force
state after
same same_strict before after

rec named quietcore apply --cpus 3 {NAMED} --json
values values_named
timers timers_named
rec offline cat /sys/devices/system/cpu/offline
rec said sh -c 'dmesg | grep -i \"fair server disabled\"'
rec undo_named quietcore undo --json
state after
same same_named before after

# Two timers that a program armed on CPU 3; one of the programs went elsewhere since, the other is pinned there. The
# interrupt has no other CPU either.
echo 3 >/proc/irq/$irq/smp_affinity_list
taskset -c 3 sleep 50000 &
taskset -c 3 sleep 50001 &
sleep 1
taskset -pc 1 $! >/dev/null
state armed
far far_free
rec plain quietcore apply --cpus 3
far far_plain
rec undo_plain quietcore undo
rec cycled quietcore apply --cpus 3 --with cpu_cycle --json
far far_cycled
rec all_online cat /sys/devices/system/cpu/online
rec undo_cycled quietcore undo --json
state after
same same_cycled armed after
"
    ));
    script
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, _) in WRONG {
        verdict.status(seen, &format!("wrong_{name}"), 2);
    }
    for name in [
        "balanced",
        "again",
        "rule",
        "strict",
        "undo_force",
        "named",
        "plain",
        "cycled",
    ] {
        verdict.status(seen, name, 0);
    }
    verdict.status(seen, "other", 5);
    verdict.status(seen, "undo_drift", 5);
    verdict.equal("what somebody else wrote", seen.get("left").text(), "50");
    for name in ["undo_balanced", "undo_rule", "undo_named", "undo_plain", "undo_cycled"] {
        verdict.status(seen, name, 0);
    }
    for name in [
        "same_wrong",
        "same_again",
        "same_balanced",
        "same_strict",
        "same_named",
        "same_cycled",
    ] {
        // An interrupt thread follows the CPU where its interrupt last fired. `undo` cannot restore that. The kernel
        // also recalculates a memory reserve when huge pages are enabled again (`set_recommended_min_free_kbytes`).
        let follows = |line: &&str| {
            let irq_thread = line.starts_with("kthread ") && line.contains(": \"irq/");
            let reserve = name == "same_named" && line.starts_with("/proc/sys/vm/min_free_kbytes:");
            !irq_thread && !reserve
        };
        let record = seen.get(name);
        let changed: Vec<&str> = record.stdout.lines().filter(follows).collect();
        verdict.that(
            matches!(record.status, 0 | 1) && changed.is_empty(),
            format!("{name}: {changed:?} {}", record.stderr),
        );
    }
    let free = values(seen, "values_free");
    verdict.that(free.len() > 15, format!("the guest has {} of the files", free.len()));
    let realtime = cell.kernel.id.ends_with("-rt");
    let balanced: Vec<&ExpectedFile> = BALANCED
        .iter()
        .filter(|one| !(realtime && one.path.ends_with("rq_affinity")))
        .collect();
    check_values(&free, &values(seen, "values_balanced"), &balanced, "balanced", verdict);
    let strict: Vec<&ExpectedFile> = balanced.iter().copied().chain(STRICT).collect();
    check_values(&free, &values(seen, "values_strict"), &strict, "strict", verdict);
    check_values(
        &free,
        &values(seen, "values_named"),
        &BY_NAME.iter().collect::<Vec<_>>(),
        "by name",
        verdict,
    );
    verdict.equal("offline", seen.get("offline").text(), "2");
    if free.contains_key("/sys/kernel/debug/sched/fair_server/cpu3/runtime") {
        verdict.that(
            seen.get("said").status == 0,
            "the kernel says that its fair server is off",
        );
    }
    verdict.equal("timers of CPU 3, free", words(seen, "far_free").as_str(), "3 3");
    verdict.equal("timers of CPU 3, isolated", words(seen, "far_plain").as_str(), "3 3");
    let cycled = words(seen, "far_cycled");
    let is_offline = cycled.split(' ').count() == 2 && !cycled.contains('3');
    verdict.that(is_offline, format!("timers after the cycle are on CPU {cycled}"));
    verdict.equal("online after the cycle", seen.get("all_online").text(), "0-3");
    check_plan(&seen.get("plan").json(), verdict);
    effects(seen, realtime, verdict);
}

fn values(seen: &GuestRecords, name: &str) -> BTreeMap<String, String> {
    let text = seen.get(name).stdout;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(path, value)| (path.to_owned(), value.trim().to_owned()))
        .collect()
}

/// Files that have the expected value before.
const SAME_BEFORE: &[&str] = &[
    // They must keep it.
    "/proc/sys/kernel/watchdog",
    "/sys/kernel/debug/sched/fair_server/cpu0/runtime",
    "/sys/kernel/debug/sched/fair_server/cpu3/runtime",
    "/sys/block/sda/queue/rq_affinity",
    // An emulated processor has no counter for it.
    "/proc/sys/kernel/nmi_watchdog",
    // What a real-time kernel starts with.
    "/proc/sys/vm/compact_unevictable_allowed",
    "/sys/kernel/rcu_normal",
];

/// Checks that every file that existed before has its expected value, and that no other file appeared.
fn check_values(
    free: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
    expected: &[&ExpectedFile],
    what: &str,
    verdict: &mut ScenarioVerdict,
) {
    let there = || expected.iter().filter(|one| free.contains_key(one.path));
    for one in there() {
        let value = now.get(one.path).map(String::as_str);
        verdict.equal(&format!("{what}: {}", one.path), value, Some(one.value));
    }
    // A value that was there before shows nothing.
    let is_same = |one: &&&ExpectedFile| free.get(one.path).map(String::as_str) == Some(one.value);
    let same: Vec<&str> = there().filter(is_same).map(|one| one.path).collect();
    let undisturbed: Vec<_> = same.iter().filter(|path| !SAME_BEFORE.contains(path)).collect();
    verdict.that(
        undisturbed.is_empty(),
        format!("{what}: the guest had the expected value before, set another one in DISTURBED: {undisturbed:?}"),
    );
    let turned = there().count() - same.len();
    verdict.that(turned > 3, format!("{what}: {turned} files were turned"));
    verdict.note(format!("{what}: {turned}"));
}

fn check_plan(plan: &serde_json::Value, verdict: &mut ScenarioVerdict) {
    let knobs = plan["knobs"].as_array().cloned().unwrap_or_default();
    let state = |name: &str| {
        knobs
            .iter()
            .find(|knob| knob["name"] == name)
            .map(|knob| knob["state"].clone())
    };
    verdict.equal(
        "plan: timer_migration",
        state("timer_migration"),
        Some("changes".into()),
    );
    verdict.that(
        state("watchdog").is_none(),
        "what has a safety price is not in the plan",
    );
}

/// By how much a row of `/proc/softirqs` grew on a CPU during some work.
fn grew(seen: &GuestRecords, work: &str, row: &str, cpu: usize) -> Option<u64> {
    let read = |name: String| {
        let text = seen.get(&name).stdout;
        let line = text.lines().find(|line| line.trim_start().starts_with(row))?;
        line.split_whitespace().nth(cpu + 1)?.parse::<u64>().ok()
    };
    read(format!("{work}_1"))?.checked_sub(read(format!("{work}_0"))?)
}

/// Number of packets that a CPU received during some work: the first column of `/proc/net/softnet_stat`
/// (`softnet_seq_show()`), one row for each online CPU. NET_RX does not count all of them: since 6.10 a real-time
/// kernel receives packets in a thread (`backlog_napi/3`), without a softirq.
fn received(seen: &GuestRecords, work: &str, cpu: usize) -> Option<u64> {
    let read = |moment: u8| {
        let text = seen.get(&format!("{work}_packets_{moment}")).stdout;
        let processed = text.lines().nth(cpu)?.split_whitespace().next()?;
        u64::from_str_radix(processed, 16).ok()
    };
    read(1)?.checked_sub(read(0)?)
}

/// The text of a record on one line.
fn words(seen: &GuestRecords, name: &str) -> String {
    let text = seen.get(name).stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn effects(seen: &GuestRecords, realtime: bool, verdict: &mut ScenarioVerdict) {
    let who = &verdict.status(seen, "who", 0).stdout;
    let left = movable(who);
    verdict.that(
        left.is_empty(),
        format!("movable tasks may run on CPU 3: {}", left.join(", ")),
    );
    let rcuo = who.contains("\"rcuo");
    verdict.that(!rcuo, format!("rcuo threads may run on CPU 3: {who}"));
    // Idle workers of the former mask exit after `IDLE_WORKER_TIMEOUT`. New workers have the new mask.
    let unbound = who.matches("\"kworker/u").count();
    verdict.note(format!("{unbound} workers of the former workqueue mask"));
    verdict.equal("the interrupt that was asked for", seen.get("irq").text(), "3");

    // 60 requests and 60 answers.
    let net = ["free", "balanced"].map(|work| received(seen, work, 3));
    verdict.that(
        matches!(net, [Some(free), Some(held)] if free >= 60 && held < 5),
        format!("packets received on CPU 3, free and held: {net:?}"),
    );
    // Where interrupts are threaded, the thread completes the request, and no file shows that.
    if !realtime {
        let here = ["free", "balanced", "rule"].map(|work| grew(seen, work, "BLOCK", 3));
        let home = ["free", "balanced", "rule"].map(|work| grew(seen, work, "BLOCK", 1));
        verdict.that(
            matches!(here, [Some(free), Some(held), _] if free > 100 && held < 5),
            format!("BLOCK softirqs on CPU 3, which has the interrupt, free and held: {here:?}"),
        );
        verdict.that(
            home[1].is_some_and(|held| held > 100),
            format!("BLOCK softirqs on CPU 1, which asked: {home:?}"),
        );
        verdict.note(format!(
            "BLOCK with rq_affinity=1 in a partition: {:?} on 3, {:?} on 1",
            here[2], home[2]
        ));
    }
    verdict.equal("watchdog timers, free", words(seen, "timers_free").as_str(), "0 1 2 3");
    verdict.equal(
        "watchdog timers, balanced",
        words(seen, "timers_balanced").as_str(),
        "0 1 2",
    );
    verdict.equal("watchdog timers, by name", words(seen, "timers_named").as_str(), "");
}
