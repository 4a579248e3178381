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
    about: "time and memory of apply and undo with 10,000 tasks and more, beside a bare loop and the peers",
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
lab-guest sleepers 9900 >/dev/null
rec seed quietcore apply --cpus 3 --quiet
cp /run/quietcore/journal /tmp/written
rec seed-undo quietcore undo --quiet
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
"
    .to_owned();
    for round in 1..=ROUNDS {
        text.push_str(&format!(
            "rec bare{round} lab-guest bare /tmp/written\nrec bare-undo{round} lab-guest bare-undo /tmp/written
rec careful{round} lab-guest careful /tmp/written\nrec careful-undo{round} lab-guest bare-undo /tmp/written
rec plan{round} quietcore plan --cpus 3 --quiet
rec apply{round} quietcore apply --cpus 3 --quiet\nrec apply{round}-left lab-guest left 3
rec check{round} quietcore check --for 0s --quiet
rec undo{round} quietcore undo --quiet\n"
        ));
    }
    text.push_str("rec start quietcore cpus 3\n");
    for Peer { name, apply, undo } in peers(cell) {
        text.push_str(&format!(
            "rec {name} {apply}\nrec {name}-left lab-guest left 3\nrec {name}-undo {undo}\n"
        ));
    }
    text.push_str(
        "storm bare lab-guest bare /tmp/written\nlab-guest bare-undo /tmp/written >/dev/null 2>&1\ncalm\n\
         storm quietcore quietcore apply --cpus 3 --quiet\nrec storm-undo quietcore undo --quiet\ncalm\n",
    );
    for Peer { name, apply, undo } in peers(cell) {
        text.push_str(&format!("storm {name} {apply}\n{undo} >/dev/null 2>&1\ncalm\n"));
    }
    for (size, processes) in CROWDS {
        text.push_str(&format!(
            "for n in $(seq {processes}); do lab-guest threads 1000 crowd & done; sleep 60
rec {size}-bare lab-guest bare /tmp/written\nrec {size}-bare-undo lab-guest bare-undo /tmp/written
rec {size}-apply quietcore apply --cpus 3 --quiet\nrec {size}-left lab-guest left 3
rec {size}-undo quietcore undo --quiet\n"
        ));
    }
    text
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let best = |name: &str, of: &dyn Fn(&str) -> f64| {
        let all = (1..=ROUNDS).map(|round| of(&format!("{name}{round}")));
        all.fold(f64::INFINITY, f64::min)
    };
    let took = |name: &str| seen.get(name).ms as f64;
    let looped = |name: &str| seen.get(name).json()["us"].as_f64().unwrap_or(0.0) / 1000.0;
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
    let (bare, apply) = (best("bare", &looped), best("apply", &took));
    verdict.that(
        apply <= 1.5 * bare,
        format!("apply takes {:.2} of the bare loop, 1.5 at most", apply / bare),
    );
    let careful = best("careful", &looped);
    verdict.that(
        apply <= 1.2 * careful,
        format!(
            "apply takes {:.2} of the loop that also asks for every mask, 1.2 at most",
            apply / careful
        ),
    );
    let (plan, check) = (best("plan", &took), best("check", &took));
    verdict.that(plan <= apply, format!("plan takes {plan:.0} ms, apply {apply:.0}"));
    verdict.that(check <= plan, format!("check takes {check:.0} ms, plan {plan:.0}"));
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
