//! Reproduces the known problem of the first CPU core on current kernels. A program has core 2, the first of its
//! socket, to itself. A new thread on its neighbour, core 3, writes to a disk whose interrupt is on core 2. The
//! completions of these writes, softirq BLOCK, run on the isolated core. `rq_affinity` sends them back to core 3.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs on two kernels, because they choose the completing CPU differently.
pub const SCENARIO: Scenario = Scenario {
    name: "first_cpu_core",
    about: "a neighbour's disk writes complete on an isolated core until rq_affinity sends them home, by softirq counts",
    cells,
    script,
    check,
};

/// Two sockets of two cores, each with its own last-level cache; a disk with one ordinary interrupt.
pub(super) const DISK: GuestShape = GuestShape {
    modules: &["ahci", "sd_mod"],
    devices: &[
        "-blockdev",
        "null-co,node-name=d0,size=67108864,read-zeroes=on",
        "-device",
        "ide-hd,drive=d0",
    ],
    ..USUAL
};

/// Number of writes of the neighbour in each part. On AHCI one write is one to three requests.
const WRITES: u64 = 300;

fn cells() -> Vec<ScenarioCell> {
    [(K6_1, CgroupLayout::V1), (K7, CgroupLayout::V2)]
        .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).on(DISK).within(240))
        .to_vec()
}

/// The interrupt is on core 2 because a user put it there, and stays (`--without irq_affinity`). `rq_affinity` is 1,
/// the kernel's default, and 0 in a separate part. The last part is plain `apply`. `measure` counts the completions on
/// the isolated core while the neighbour keeps writing.
fn script(_: &ScenarioCell) -> String {
    format!(
        "cat >/tmp/writes <<'END'
block() {{ awk '/^ *BLOCK/ {{ print $2, $3, $4, $5 }}' /proc/softirqs; }}
block
taskset -c 3 dd if=/dev/zero of=/dev/sda bs=4k count={WRITES} oflag=direct 2>/dev/null
sleep 0.2
block
END
chapter() {{ # NAME ARGUMENTS OF apply
    name=$1
    shift
    rec apply_$name quietcore apply --cpus 2 \"$@\" --json
    rec rq_$name cat /sys/block/sda/queue/rq_affinity
    rec $name sh /tmp/writes
    taskset -c 3 dd if=/dev/zero of=/dev/sda bs=4k count=1000000 oflag=direct 2>/dev/null & writer=$!
    rec measure_$name quietcore measure noise --cpus 2 --for 1s --json
    kill $writer
    rec undo_$name quietcore undo --json
}}
wait_for 10 test -b /dev/sda
irq=$(awk '/ahci/ {{ sub(\":\", \"\", $1); print $1; exit }}' /proc/interrupts)
echo 2 >/proc/irq/$irq/smp_affinity_list
taskset -c 3 dd if=/dev/sda of=/dev/null bs=4k count=20 iflag=direct 2>/dev/null
state before
chapter shared --without irq_affinity --without rq_affinity
chapter cured --without irq_affinity
echo 0 >/sys/block/sda/queue/rq_affinity
chapter stays --without irq_affinity --without rq_affinity
chapter cured_too --without irq_affinity
echo 1 >/sys/block/sda/queue/rq_affinity
chapter plain
state after
same same before after
"
    )
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    // On 6.1 the CPU of a run-time partition shares its cache with no other CPU, so with `rq_affinity` 1 the requesting
    // CPU completes. On 7.2 it still shares its cache with its neighbours.
    let shared = if cell.kernel == K7 {
        CompletionSite::Isolated
    } else {
        CompletionSite::OnCore3
    };
    for (chapter, rq_affinity, place) in [
        ("shared", "1", shared),
        ("cured", "2", CompletionSite::OnCore3),
        ("stays", "0", CompletionSite::Isolated),
        ("cured_too", "2", CompletionSite::OnCore3),
        ("plain", "2", CompletionSite::OnCore3),
    ] {
        verdict.status(seen, &format!("apply_{chapter}"), 0);
        let file = format!("rq_{chapter}");
        verdict.equal(&file, seen.get(&file).text(), rq_affinity);
        let (isolated, on_core_3) = completions(&verdict.status(seen, chapter, 0).stdout);
        let counted =
            format!("{chapter}: {isolated} on the isolated core 2, {on_core_3} on core 3, of {WRITES} writes");
        verdict.that(
            match place {
                CompletionSite::Isolated => isolated >= WRITES && on_core_3 < WRITES / 10,
                CompletionSite::OnCore3 => on_core_3 >= WRITES && isolated < WRITES / 10,
            },
            counted.clone(),
        );
        let measured = verdict.status(seen, &format!("measure_{chapter}"), 0).json();
        let block = blocks(&measured);
        verdict.that(
            (block > 20) == (place == CompletionSite::Isolated),
            format!("{chapter}: measure counted {block} BLOCK softirqs on core 2"),
        );
        verdict.note(format!(
            "rq_affinity={rq_affinity} {isolated}/{on_core_3} measured {block}"
        ));
        let undone = verdict.status(seen, &format!("undo_{chapter}"), 0).json();
        verdict.equal(
            &format!("{chapter}: undo"),
            undone["failed"].as_array().map(Vec::len),
            Some(0),
        );
    }
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state after the story", same.text(), "");
}

/// Where requests of core 3 are completed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CompletionSite {
    /// On the isolated core 2, which receives the interrupt.
    Isolated,
    /// On core 3.
    OnCore3,
}

/// BLOCK softirqs of cores 2 and 3 between the two recorded rows.
fn completions(text: &str) -> (u64, u64) {
    let rows: Vec<Vec<u64>> = text
        .lines()
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    let of = |cpu: usize| {
        let at = |row: usize| rows.get(row)?.get(cpu).copied();
        at(1)
            .zip(at(0))
            .map_or(0, |(after, before)| after.saturating_sub(before))
    };
    (of(2), of(3))
}

/// BLOCK softirqs on the measured core.
fn blocks(measured: &serde_json::Value) -> u64 {
    let cpus = measured["activity"]["cpus"].as_array();
    let softirqs = cpus.into_iter().flatten().filter_map(|cpu| cpu["softirqs"].as_array());
    let block = softirqs.flatten().filter(|softirq| softirq["name"] == "BLOCK");
    block.filter_map(|softirq| softirq["count"].as_u64()).sum()
}
