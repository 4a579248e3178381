//! Runs the truth benchmark of `blame` on kernels with different events: every disturbance that is possible in a guest,
//! alone and mixed. Compares their true class and culprit with the report of `blame`.

use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::truth::TruthTable;
use crate::verdict::ScenarioVerdict;

/// Runs on a kernel that does not report the senders of interrupts, on the newest, and on a real-time kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "truth",
    about: "blame names class and culprit of known disturbances, explains their time, and gives no event to the wrong one",
    cells,
    script,
    check,
};

/// Number of guests that share the list, because each disturbance is slow in an emulator.
const PARTS: u32 = 12;

/// A disk with one queue for all CPUs, a random number device whose interrupt can be moved, and the files that describe
/// the CPUs.
const MACHINE: GuestShape = GuestShape {
    modules: &["ahci", "sd_mod", "virtio_pci", "virtio_rng", "cpuid"],
    devices: &[
        "-blockdev",
        "null-co,node-name=d0,size=67108864,read-zeroes=on",
        "-device",
        "ide-hd,drive=d0",
        "-object",
        "rng-builtin,id=r0",
        "-device",
        "virtio-rng-pci,rng=r0",
    ],
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    let of = |part| [K6_1, K7, K6_12_RT].map(|kernel| (kernel, part));
    let cells = (1..=PARTS).flat_map(of).map(|(kernel, part)| ScenarioCell {
        part,
        ..ScenarioCell::new(kernel, CgroupLayout::V2).on(MACHINE).within(540)
    });
    cells.collect()
}

/// The emulator runs one CPU after the other, each for up to 100 ms. An interrupt can be late by that time, so separate
/// disturbances are further apart.
fn script(cell: &ScenarioCell) -> String {
    format!(
        "rec truth lab-guest truth --part {}/{PARTS} --cpus 2 --other 0 --alone yes --control no --count 5 --mixtures 1 --apart-ms 150 --slack-us 110000 --out /tmp/table
rec table cat /tmp/table
rec instances ls /sys/kernel/tracing/instances
",
        cell.part
    )
}

/// The explained share of the stolen time is reported but not checked: while the emulator runs another CPU, this one is
/// stopped, and no event or counter of the guest shows that.
fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let table: Option<TruthTable> = serde_json::from_value(seen.get("table").json()).ok();
    verdict.that(table.is_some(), "there is a table");
    verdict.equal("instances left", seen.get("instances").text().to_owned(), String::new());
    match table {
        Some(table) => {
            for missed in table.missed() {
                verdict.that(false, missed);
            }
            verdict.note(format!("\n{}", table.text()));
        }
        None => verdict.note(seen.get("truth").stderr),
    }
}
