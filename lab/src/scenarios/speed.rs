//! Measures how fast a machine with many tasks is partitioned, compared with a bare loop that does the same writes and
//! with the peers, all in one guest. Emulated seconds mean nothing, but their ratios do.

use crate::kernels::{K6_1, K7};
use crate::packages::PEERS;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

mod table;

/// A guest with memory for 100,000 threads, each with its kernel stack.
const CROWDED: GuestShape = GuestShape {
    name: "crowded",
    memory_mib: 6144,
    packages: Some(&PEERS),
    ..USUAL
};

/// Rounds of the comparison on a quiet machine. The fastest result of each tool counts.
const ROUNDS: u32 = 3;
/// Sizes of the last comparison, with the number of added processes of 1,000 threads each.
const CROWDS: [(&str, u32); 2] = [("30k", 20), ("100k", 70)];

/// Not part of a full run; `make bench-lab` requests it explicitly. [`super::fork_storm`] is a small version.
pub const SCENARIO: Scenario = Scenario {
    name: "speed",
    about: "time and memory of apply and undo with 10,000 tasks and more, compared with a bare loop and the peers",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [
        (K6_1, CgroupLayout::V1),
        (K6_1, CgroupLayout::V2),
        (K7, CgroupLayout::V2),
    ]
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).on(CROWDED).within(3600))
    .to_vec()
}

/// A peer: its name, and the commands that isolate CPU 3 and undo it.
struct Peer {
    name: &'static str,
    apply: &'static str,
    undo: &'static str,
}

const CSET: Peer = Peer {
    name: "cset",
    apply: "cset shield --cpu 3 --kthread=on",
    undo: "cset shield --reset",
};
const TUNA: Peer = Peer {
    name: "tuna",
    apply: "tuna --cpus=3 --isolate",
    undo: "tuna --cpus=3 --include",
};

/// cset needs cgroup v1: on v2 it cannot mount its file system.
fn peers(cell: &ScenarioCell) -> &'static [Peer] {
    match cell.layout {
        CgroupLayout::V1 => &[CSET, TUNA],
        _ => &[TUNA],
    }
}

fn script(cell: &ScenarioCell) -> String {
    let mut text = "export PATH=/bin:/usr/bin:/usr/sbin HOME=/root
echo 4000000 >/proc/sys/kernel/pid_max
echo 400000 >/proc/sys/kernel/threads-max
seed() {
    rec $1seed quietcore apply --cpus 3 --quiet
    cp /run/quietcore/journal /tmp/written
    rec $1seed-undo quietcore undo --quiet
}
# rounds PREFIX: each command some times, one after the other.
rounds() {
    for round in $(seq ROUNDS); do
        rec $1bare$round lab-guest bare /tmp/written
        rec $1bare-undo$round lab-guest bare-undo /tmp/written
        rec $1careful$round lab-guest careful /tmp/written
        rec $1careful-undo$round lab-guest bare-undo /tmp/written
        rec $1plan$round quietcore plan --cpus 3 --quiet
        rec $1apply$round quietcore apply --cpus 3 --quiet
        rec $1apply$round-left lab-guest left 3
        rec $1check$round quietcore check --for 0s --quiet
        rec $1plan-again$round quietcore plan --cpus 3 --quiet
        rec $1undo$round quietcore undo --quiet
    done
}
# storm NAME COMMAND: the same while 5,000 tasks are forked.
storm() {
    tool=$1; shift
    rm -f /tmp/bred
    lab-guest breed 5000 /tmp/bred &
    breeder=$!
    sleep 1
    rec storm-$tool $@
    note storm-$tool-over $(test -e /tmp/bred && echo yes || echo no)
    wait_for 600 test -e /tmp/bred
    rec storm-$tool-left lab-guest left 3
}
calm() { kill $breeder; wait $breeder; sleep 2; }
seed few-
rounds few-
lab-guest sleepers 9900 >/dev/null
seed
rounds
"
    .replace("ROUNDS", &ROUNDS.to_string());
    text.push_str(
        "rec start quietcore cpus 3
storm bare lab-guest bare /tmp/written
lab-guest bare-undo /tmp/written >/dev/null 2>&1
calm
storm quietcore quietcore apply --cpus 3 --quiet
rec storm-undo quietcore undo --quiet
calm
crowds=
",
    );
    for (size, processes) in CROWDS {
        text.push_str(&format!(
            "for n in $(seq {processes}); do lab-guest threads 1000 crowd & crowds=\"$crowds $!\"; done; sleep 60
rec {size}-bare lab-guest bare /tmp/written\nrec {size}-bare-undo lab-guest bare-undo /tmp/written
rec {size}-apply quietcore apply --cpus 3 --quiet\nrec {size}-left lab-guest left 3
rec {size}-undo quietcore undo --quiet\n"
        ));
    }
    // Last, because a peer may leave every task with another mask: the tuna of the newest Debian fails in --include.
    text.push_str("kill $crowds; wait $crowds; sleep 5\n");
    for Peer { name, apply, undo } in peers(cell) {
        text.push_str(&format!(
            "rec {name} {apply}\nrec {name}-left lab-guest left 3\nrec {name}-undo {undo}
storm {name} {apply}\n{undo} >/dev/null 2>&1\ncalm\n"
        ));
    }
    text
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let took = |name: &str| seen.get(name).ms as f64;
    let best = |name: &str| {
        let all = (1..=ROUNDS).map(|round| took(&format!("{name}{round}")));
        all.fold(f64::INFINITY, f64::min)
    };
    let left = |name: &str| {
        let found = seen.get(name).json();
        Some(found["user"].as_u64()? + found["kernel"].as_u64()?)
    };
    for round in 1..=ROUNDS {
        for name in ["bare", "careful", "apply", "undo"] {
            verdict.status(seen, &format!("{name}{round}"), 0);
        }
        verdict.equal("left on CPU 3, quiet", left(&format!("apply{round}-left")), Some(0));
    }
    verdict.equal(
        "left on CPU 3 while 5,000 are forked",
        left("storm-quietcore-left"),
        Some(0),
    );
    // The emulator translates a program each time it starts. So what counts is what 10,000 tasks add to each. Beside the
    // partition a plan reads the task lists of its cgroups too, as the check does.
    let added = |name: &str| best(name) - best(&format!("few-{name}"));
    for (name, other, limit) in [
        ("apply", "careful", 1.2),
        ("plan", "apply", 1.0),
        ("check", "plan-again", 1.0),
    ] {
        let (ours, theirs) = (added(name), added(other));
        verdict.that(
            ours <= limit * theirs,
            format!("10,000 tasks add {ours:.0} ms to {name}, {theirs:.0} to {other}; {limit} times that at most"),
        );
    }
    let apply = best("apply");
    for peer in peers(cell) {
        for (ours, name) in [
            (apply, peer.name.to_owned()),
            (took("storm-quietcore"), format!("storm-{}", peer.name)),
        ] {
            verdict.that(
                ours < took(&name),
                format!("{name} took {:.0} ms, quietcore {ours:.0} ms", took(&name)),
            );
        }
    }
    for name in [
        "apply1",
        "undo1",
        "storm-quietcore",
        "storm-undo",
        "30k-apply",
        "30k-undo",
        "100k-apply",
        "100k-undo",
    ] {
        let record = verdict.status(seen, name, 0);
        verdict.that(
            record.peak_kib < 20 * 1024,
            format!("{name} had {} KiB, 20 MiB at most", record.peak_kib),
        );
    }
    let tasks = |name: &str| seen.get(name).json()["tasks"].as_f64().unwrap_or(0.0);
    let each = |ms: f64, name: &str| ms / tasks(name);
    let (few, many) = (each(apply, "apply1-left"), each(took("100k-apply"), "100k-left"));
    verdict.that(
        many <= 1.5 * few,
        format!(
            "apply: {:.1} us a task at 100,000, {:.1} at 10,000",
            many * 1e3,
            few * 1e3
        ),
    );
    verdict.equal("left on CPU 3 of 100,000", left("100k-left"), Some(0));
    verdict.note(table::text(cell, seen));
}
