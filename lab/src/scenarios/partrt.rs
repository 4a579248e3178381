//! Runs partrt's documented tutorial, unchanged, with the front end: create, run, move, list, undo. The state after it
//! equals the state before. Also tests the options of partrt, and counts ticks.

use super::apply_undo::movable;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "partrt",
    about: "partrt's tutorial on CPUs 2 and 3: what it prints, where tasks are, and that undo gives everything back",
    cells,
    script,
    check,
};

/// Two memory nodes, for `create -n`.
const NODES: GuestShape = GuestShape {
    nodes: &["0-1", "2-3"],
    memory_mib: 384,
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K6_1, CgroupLayout::V1).on(NODES).within(240),
        // One node: up to 6.x the kernel widens the masks of a node's unbound kworkers when a v2 partition is removed,
        // and they cannot be narrowed again.
        ScenarioCell::new(K6_1, CgroupLayout::V2).within(240),
        ScenarioCell::new(K7, CgroupLayout::V2).on(NODES).within(240),
    ]
}

/// The `cyclictest` of the tutorial is a program of that name that sleeps: only its placement matters.
fn script(_: &ScenarioCell) -> String {
    "export LAB_STATE_LEAVES=/run/quietcore/journal
for name in partrt bitcalc count_ticks; do ln -s quietcore /bin/$name; done
program() { printf '#!/bin/sh\\n%s\\n' \"$2\" >/bin/$1; chmod +x /bin/$1; }
program cyclictest 'exec lab-guest threads 2 cyclictest'
program mask 'grep Cpus_allowed_list /proc/$1/status'
program settings 'cd /proc/sys; cat kernel/sched_rt_runtime_us vm/stat_interval kernel/watchdog_thresh'
program policy 'cut -d\" \" -f40,41 /proc/self/stat; grep Cpus_allowed_list /proc/self/status; exit $1'
populate
state before
rec settings_before settings
rec none partrt list
rec early partrt undo
rec create partrt create 0xc
rec settings settings
rec again partrt create 0xc
rec list partrt list
rec directory cat /sys/fs/cgroup/cpuset/nrt/cpuset.cpus
rec who lab-guest who 3
rec left lab left_on 3
partrt run -c 0x8 rt cyclictest -n -i 10000 -l 10000 &
test=$!
sleep 1
rec test_in mask $test
rec move partrt move $test nrt
rec test_out mask $test
rec back partrt -v move -c 0x4 $test rt
rec test_back mask $test
rec fifo partrt run -f 80 rt policy 0
rec rr partrt run -r 50 rt policy 7
rec other partrt run -o nrt policy 0
rec rest partrt run -c 1 nrt policy 0
rec outside partrt run -c 0x1 rt true
rec missing partrt run rt /there/is/none
rec kernel partrt move 2 rt
rec ticks count_ticks -c rt -b sleep 2
rec ticks_started count_ticks --cpu 3 --start
rec ticks_ended count_ticks --cpu 3 --end
rec bits bitcalc -F list 0xc
rec undo partrt undo
sleep 0.5
rec test_home mask $test
kill $test
sleep 0.5
state after
same same before after
rec settings_after settings
rec names partrt -r rtset -n other create -t -m -w -c 0x8
rec settings_kept settings
rec names_list partrt list
rec names_wrong partrt undo
rec names_undo partrt -r rtset undo -s /tmp/partrt_env
rec drift_create partrt create 0x8
echo 77 >/proc/sys/vm/stat_interval
rec drift partrt undo
rec drift_left cat /proc/sys/vm/stat_interval
echo 1 >/proc/sys/vm/stat_interval
rec drift_end partrt undo
rec two_one partrt create 0x8
rec two_clash partrt -r fast create 0x4
rec two_two partrt -r fast -n rest create 0x4
rec two_list partrt list
rec two_run partrt run rest policy 0
rec two_undo partrt undo
rec two_left partrt list
rec two_settings settings
rec two_end partrt -r fast undo
rec node partrt create -n 1
rec node_mems sh -c 'cat /sys/fs/cgroup/cpuset/rt/cpuset.mems /sys/fs/cgroup/quietcore-rt/cpuset.mems 2>/dev/null'
rec node_undo partrt undo
state end
same same_end before end
rec journal ls /run/quietcore/journal
"
    .to_owned()
}

const DIVIDED: &str = "System was successfylly divided into following partitions:\n";
const RESTORED: &str = "System was successfully restored\n";

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let check_output = |verdict: &mut ScenarioVerdict, name: &str, status: i32, stdout: &str| {
        let record = verdict.status(seen, name, status);
        verdict.equal(name, record.stdout.as_str(), stdout);
    };
    check_output(verdict, "none", 0, "Could not find any partitions\n");
    check_output(verdict, "early", 0, RESTORED);
    check_output(
        verdict,
        "create",
        0,
        &format!("{DIVIDED}Isolated CPUs (rt):2-3\nNon-isolated CPUS (nrt):0-1\n"),
    );
    let create = seen.get("create").stderr;
    for knob in ["sched_rt_runtime_us", "watchdog"] {
        verdict.that(
            create.contains(&format!("partrt: {knob}: ")),
            format!("create says nothing of {knob}: {create}"),
        );
    }
    verdict.equal("settings", words(&seen.get("settings").stdout).as_str(), "-1 1000 0");
    let again = verdict.status(seen, "again", 1).stderr;
    verdict.that(
        again.ends_with("rt: Partition already exists, remove it first using 'undo' command.\n"),
        format!("a second create: {again}"),
    );
    check_output(verdict, "list", 0, "Name:nrt CPUs: 0-1\nName:rt CPUs: 2-3\n");
    let left = movable(&verdict.status(seen, "who", 0).stdout);
    verdict.that(left.is_empty(), format!("movable tasks may run on CPU 3: {left:?}"));
    let left = verdict.status(seen, "left", 0);
    verdict.that(
        !left.stdout.contains("movable"),
        format!("interrupts on CPU 3: {}", left.text()),
    );
    placed(seen, verdict);
    refused(seen, verdict);
    let ticks = verdict.status(seen, "ticks", 0);
    verdict.that(ticks.text().parse::<u64>().is_ok(), format!("ticks: {}", ticks.text()));
    verdict.note(format!("{} ticks on two CPUs in 2 s", ticks.text()));
    verdict.status(seen, "ticks_started", 0);
    let ended = verdict.status(seen, "ticks_ended", 0);
    verdict.that(
        ended.stdout.ends_with(" ticks occurred\n"),
        format!("--end: {}", ended.text()),
    );
    check_output(verdict, "bits", 0, "2-3\n");
    for name in ["undo", "names_undo", "node_undo"] {
        check_output(verdict, name, 0, RESTORED);
    }
    for (after, before) in [
        ("settings_after", "settings_before"),
        ("settings_kept", "settings_before"),
    ] {
        verdict.equal(after, seen.get(after).stdout, seen.get(before).stdout);
    }
    for name in ["same", "same_end"] {
        verdict.equal(name, seen.get(name).text(), "");
    }
    check_output(
        verdict,
        "names",
        0,
        &format!("{DIVIDED}Isolated CPUs (rtset):3\nNon-isolated CPUS (other):0-2\n"),
    );
    check_output(verdict, "names_list", 0, "Name:other CPUs: 0-2\nName:rtset CPUs: 3\n");
    let wrong = verdict.status(seen, "names_wrong", 1).stderr;
    verdict.that(
        wrong.contains("partrt -r rtset undo"),
        format!("undo of another name: {wrong}"),
    );
    if cell.layout == CgroupLayout::V1 {
        check_output(verdict, "directory", 0, "0-1\n");
    }
    let drift = verdict.status(seen, "drift", 1);
    let message = "partrt: Failed execution: not everything is as before: ";
    verdict.that(
        drift.stderr.starts_with(message) && drift.stderr.contains("stat_interval") && drift.stdout.is_empty(),
        format!("undo of what somebody changed: {}", drift.stderr),
    );
    verdict.equal("drift_left", seen.get("drift_left").text(), "77");
    let ended = verdict.status(seen, "drift_end", 0).stdout;
    verdict.equal("drift_end", ended.as_str(), RESTORED);
    two(cell, seen, verdict);
    node(cell, seen, verdict);
    verdict.that(seen.get("journal").status != 0, "no journal is left");
}

/// Checks a second partition, which shares the set for all other tasks.
fn two(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["two_one", "two_two"] {
        verdict.status(seen, name, 0);
    }
    let clash = verdict.status(seen, "two_clash", 1).stderr;
    verdict.that(
        clash.ends_with("nrt: Partition already exists, remove it first using 'undo' command.\n"),
        format!("one more nrt: {clash}"),
    );
    let list = verdict.status(seen, "two_list", 0).stdout;
    verdict.equal(
        "two_list",
        list.as_str(),
        "Name:fast CPUs: 2\nName:nrt CPUs: 0-1\nName:rt CPUs: 3\n",
    );
    let run = words(&verdict.status(seen, "two_run", 0).stdout);
    verdict.equal("two_run", run.as_str(), "0 0 Cpus_allowed_list: 0-1");
    // On v1 the directory keeps its name. On v2 there is no directory, and the name is the last one that the user
    // chose.
    let rest = if cell.layout == CgroupLayout::V1 { "nrt" } else { "rest" };
    let left = verdict.status(seen, "two_left", 0).stdout;
    verdict.equal(
        "two_left",
        left,
        format!("Name:fast CPUs: 2\nName:{rest} CPUs: 0-1,3\n"),
    );
    verdict.equal(
        "two_settings",
        words(&seen.get("two_settings").stdout).as_str(),
        "-1 1000 0",
    );
    for name in ["two_undo", "two_end"] {
        let output = verdict.status(seen, name, 0).stdout;
        verdict.equal(name, output.as_str(), RESTORED);
    }
}

/// Checks `create -n 1`.
fn node(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    if cell.shape.nodes.is_empty() {
        let errors = verdict.status(seen, "node", 1).stderr;
        let expected = "partrt: Failed execution: NUMA node: 1 does not exist\n";
        verdict.equal("node", errors.as_str(), expected);
        return;
    }
    let output = verdict.status(seen, "node", 0).stdout;
    let expected = format!("{DIVIDED}Isolated CPUs (rt):2-3\nNon-isolated CPUS (nrt):0-1\n");
    verdict.equal("node", output, expected);
    verdict.equal("memory of node 1", seen.get("node_mems").text(), "1");
}

/// Checks the placement of tasks.
fn placed(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, cpus) in [
        ("test_in", "3"),
        ("test_out", "0-1"),
        ("test_back", "2"),
        ("other", "0-1"),
        ("rest", "0"),
        ("test_home", "0-3"),
    ] {
        let record = verdict.status(seen, name, 0);
        let list = record.stdout.split_whitespace().last().unwrap_or_default();
        verdict.equal(name, list, cpus);
    }
    verdict.status(seen, "move", 0);
    let back = verdict.status(seen, "back", 0);
    verdict.that(
        back.stderr.contains(": Moved to rt"),
        format!("move -v: {}", back.stderr),
    );
    // Priority and policy as in `/proc/PID/stat`: 1 is SCHED_FIFO, 2 is SCHED_RR.
    let fifo = words(&verdict.status(seen, "fifo", 0).stdout);
    verdict.equal("-f 80", fifo.as_str(), "80 1 Cpus_allowed_list: 2-3");
    let rr = words(&verdict.status(seen, "rr", 7).stdout);
    verdict.equal("-r 50", rr.as_str(), "50 2 Cpus_allowed_list: 2-3");
}

/// Checks which commands are refused, and how.
fn refused(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let outside = verdict.status(seen, "outside", 1).stderr;
    verdict.equal(
        "outside",
        outside.as_str(),
        "partrt: Failed execution: Invalid cpumask: 0x1 contains one or more CPUs that are not part of rt\n",
    );
    verdict.status(seen, "missing", 127);
    // On v1 kthreadd may move. The status is 0 either way, and tasks that do not move are listed.
    let kernel = verdict.status(seen, "kernel", 0);
    let named = kernel.stderr.is_empty() || kernel.stderr.starts_with("2 (kthreadd): Could not be moved to rt: ");
    verdict.that(named, format!("kthreadd: {}", kernel.stderr));
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
