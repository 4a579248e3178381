//! Compares which CPUs exist, and what the kernel has kept off them since boot.

use super::{Pair, Step, shown};
use crate::{FindingId, Level};
use machine::{CpuSet, Isolation};

/// A set of CPUs that the kernel reports about its own isolation.
type Told = (FindingId, &'static str, fn(&Isolation) -> &Option<CpuSet>);

const TOLD: [Told; 3] = [
    (FindingId::BOOT_ISOLATED, "CPUs isolated at boot", |isolation| {
        &isolation.boot_isolated
    }),
    (FindingId::NOHZ_FULL, "nohz_full CPUs", |isolation| {
        &isolation.nohz_full
    }),
    (FindingId::RCU_NOCBS, "rcu_nocbs CPUs", |isolation| {
        &isolation.rcu_nocbs
    }),
];

pub(super) fn compare(pair: &mut Pair) {
    let (before, after) = (pair.before, pair.after);
    let (old, new) = (&before.machine.topology.online, &after.machine.topology.online);
    // A machine with unknown CPUs has not lost any.
    if !old.is_empty() && !new.is_empty() {
        let (gone, come) = (old.minus(new), new.minus(old));
        let present = after.machine.topology.present_cpus();
        let ways = [
            (gone.and(&present), FindingId::CPU_OFFLINE, "went offline"),
            (
                gone.minus(&present),
                FindingId::CPU_UNPLUGGED,
                "is no longer there",
            ),
        ];
        for (gone, id, what) in ways.into_iter().filter(|(gone, _, _)| !gone.is_empty()) {
            let level = if gone.intersects(pair.isolated) {
                Level::Error
            } else {
                Level::Warning
            };
            let message = format!("CPU {gone} {what}");
            pair.add(id, level, format!("cpu{gone}"), Step::new(old, new), message);
        }
        if !come.is_empty() {
            let step = Step::new(old, new);
            pair.add(
                FindingId::CPU_ONLINE,
                Level::Warning,
                format!("cpu{come}"),
                step,
                format!("CPU {come} came online"),
            );
        }
    }
    for (id, name, get) in TOLD {
        let sets = (get(&before.machine.isolation), get(&after.machine.isolation));
        if let (Some(old), Some(new)) = sets
            && old != new
        {
            let level = if old.is_subset(new) {
                Level::Warning
            } else {
                Level::Error
            };
            let message = format!("{name}: {} -> {}", shown(old), shown(new));
            pair.add(id, level, name, Step::new(old, new), message);
        }
    }
}
