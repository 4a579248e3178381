//! The old story of the first CPU core, as today's kernels tell it: the program has core 2, the first one of its
//! socket, to itself; a new thread on its neighbour, core 3, writes to a disk whose interrupt is on core 2; and the
//! completions of these writes, softirq BLOCK, arrive on the isolated core. `rq_affinity` sends them home.

use crate::kernels::{K6_1, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::{Layout, Shape, USUAL};
use crate::verdict::Verdict;

/// The rule differs by kernel, so it is told on two.
pub const SCENARIO: Scenario = Scenario {
    name: "first_cpu_core",
    about: "a neighbour's disk writes complete on an isolated core until rq_affinity sends them home, by softirq counts",
    cells,
    script,
    check,
};

/// Two sockets of two cores, each with its own last-level cache; a disk with one ordinary interrupt.
const DISK: Shape = Shape {
    modules: &["ahci", "sd_mod"],
    devices: &[
        "-blockdev",
        "null-co,node-name=d0,size=67108864,read-zeroes=on",
        "-device",
        "ide-hd,drive=d0",
    ],
    ..USUAL
};

/// Writes of the neighbour in each chapter. On AHCI one write is three requests at most, and at least one.
const WRITES: u64 = 300;

fn cells() -> Vec<Cell> {
    [(K6_1, Layout::V1), (K7, Layout::V2)]
        .map(|(kernel, layout)| Cell::new(kernel, layout).on(DISK).within(240))
        .to_vec()
}

/// The interrupt is on core 2 because somebody put it there, and stays (`--without irq_affinity`). `rq_affinity` is 1,
/// the kernel's default, and 0 in a chapter of its own; the last chapter is what plain `apply` does.
fn script(_: &Cell) -> String {
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
    rec $name sh /tmp/writes
    rec rq_$name cat /sys/block/sda/queue/rq_affinity
    rec undo_$name quietcore undo --json
}}
wait_for 10 test -b /dev/sda
irq=$(awk '/ahci/ {{ sub(\":\", \"\", $1); print $1; exit }}' /proc/interrupts)
echo 2 >/proc/irq/$irq/smp_affinity_list
taskset -c 3 dd if=/dev/sda of=/dev/null bs=4k count=20 iflag=direct 2>/dev/null
state before
chapter left_alone --without irq_affinity --without rq_affinity
echo 0 >/sys/block/sda/queue/rq_affinity
chapter interrupt --without irq_affinity --without rq_affinity
rec apply_cured quietcore apply --cpus 2 --without irq_affinity --with rq_affinity --json
rec cured sh /tmp/writes
rec rq_cured cat /sys/block/sda/queue/rq_affinity
taskset -c 3 dd if=/dev/zero of=/dev/sda bs=4k count=100000 oflag=direct 2>/dev/null & writer=$!
rec noise quietcore measure noise --cpus 2 --for 2s
kill $writer
rec undo_cured quietcore undo --json
rec rq_before cat /sys/block/sda/queue/rq_affinity
rec apply_noisy quietcore apply --cpus 2 --without irq_affinity --without rq_affinity --json
taskset -c 3 dd if=/dev/zero of=/dev/sda bs=4k count=100000 oflag=direct 2>/dev/null & writer=$!
rec noise_left quietcore measure noise --cpus 2 --for 2s
rec noise_json quietcore measure noise --cpus 2 --for 2s --json
kill $writer
rec undo_noisy quietcore undo --json
echo 1 >/sys/block/sda/queue/rq_affinity
chapter plain
state after
same same before after
"
    )
}

fn check(cell: &Cell, seen: &Records, verdict: &mut Verdict) {
    let _ = (cell, seen, verdict);
}
