//! Reproduces the problem of the first CPU core with `blame`: writes of core 3 complete on core 2, which has the disk's
//! interrupt, and `blame` names the writer there.

use super::first_cpu_core::DISK;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel that reports neither the senders of interrupts nor the start of a request, and on one that reports
/// both.
pub const SCENARIO: Scenario = Scenario {
    name: "blaming_chains",
    about: "a disk interrupt and its BLOCK softirq on one CPU are blamed on the thread of another CPU that wrote",
    cells: || {
        [(K6_1, CgroupLayout::V2), (K7, CgroupLayout::V2)]
            .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).on(DISK).within(240))
            .to_vec()
    },
    script,
    check,
};

/// Number of requested writes. On AHCI each is at least one request.
const WRITES: u64 = 300;

/// The trace starts before the probe, by seconds on a busy host. Writes before the start of the probe are in no gap.
fn script(_: &ScenarioCell) -> String {
    format!(
        "wait_for 10 test -b /dev/sda
irq=$(awk '/ahci/ {{ sub(\":\", \"\", $1); print $1; exit }}' /proc/interrupts)
echo 2 >/proc/irq/$irq/smp_affinity_list
echo 0 >/sys/block/sda/queue/rq_affinity
taskset -c 3 dd if=/dev/sda of=/dev/null bs=4k count=20 iflag=direct 2>/dev/null
(wait_for 60 sh -c 'grep -q 1 /sys/kernel/tracing/instances/quietcore-*/tracing_on'; sleep 5
taskset -c 3 dd if=/dev/zero of=/dev/sda bs=4k count={WRITES} oflag=direct 2>/dev/null) &
rec blame quietcore blame --cpus 2 --for 20s --json
wait
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let answer = verdict.status(seen, "blame", 0).json();
    let rows = answer["cpus"][0]["interruptions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let count = |of: &[&Value]| -> u64 { of.iter().filter_map(|row| row["count"].as_u64()).sum() };
    for (class, last) in [("soft_block", "ahci"), ("device", "disk ")] {
        let all: Vec<&Value> = rows
            .iter()
            .filter(|row| row["class"] == class && (class != "device" || is_ahci(&row["name"])))
            .collect();
        let of_writer: Vec<&Value> = all
            .iter()
            .copied()
            .filter(|row| row["culprit"]["comm"] == "dd" && row["culprit"]["cpu"] == 3)
            .collect();
        let text = format!("{class}: {} of {} are dd's on CPU 3", count(&of_writer), count(&all));
        verdict.that(
            count(&of_writer) >= WRITES / 2 && count(&of_writer) * 100 >= count(&all) * 95,
            text.clone(),
        );
        verdict.note(text);
        let chain_ends = |row: &&&Value| {
            let chain = row["culprit"]["chain"].as_array().cloned().unwrap_or_default();
            let end = chain.last().and_then(|link| link["what"].as_str()).unwrap_or_default();
            end.contains(last)
        };
        verdict.equal(
            &format!("{class}: chains that end as they should"),
            of_writer.iter().filter(chain_ends).count(),
            of_writer.len(),
        );
    }
    let block = rows
        .iter()
        .find(|row| row["class"] == "soft_block" && row["culprit"]["comm"] == "dd");
    let cure = block.map(|row| row["fix"].clone()).unwrap_or_default();
    // It moves the interrupt, and the request completes where its interrupt is.
    verdict.equal("cure", cure.as_str(), Some("quietcore apply --cpus 2"));
}

fn is_ahci(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name.contains("ahci"))
}
