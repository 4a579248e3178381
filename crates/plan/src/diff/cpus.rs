//! Compares which CPUs exist, and what the kernel has kept off them since boot.

use super::{ReadingPair, ValueChange, set_text};
use crate::{FindingId, Level};
use machine::{CpuSet, Isolation};

/// A set of CPUs that the kernel reports about its own isolation.
type ReportedSet = (FindingId, &'static str, fn(&Isolation) -> &Option<CpuSet>);

const REPORTED_SETS: [ReportedSet; 3] = [
    (FindingId::BOOT_ISOLATED, "CPUs isolated at boot", |isolation| {
        &isolation.boot_isolated
    }),
    (FindingId::NOHZ_FULL, "nohz_full CPUs", |isolation| &isolation.nohz_full),
    (FindingId::RCU_NOCBS, "rcu_nocbs CPUs", |isolation| &isolation.rcu_nocbs),
];

pub(super) fn compare(pair: &mut ReadingPair) {
    let (before, after) = (pair.before, pair.after);
    let (old, new) = (&before.machine.topology.online, &after.machine.topology.online);
    // A machine with unknown CPUs has not lost any.
    if !old.is_empty() && !new.is_empty() {
        let (removed, come) = (old.minus(new), new.minus(old));
        let present = after.machine.topology.present_cpus();
        let ways = [
            (removed.and(&present), FindingId::CPU_OFFLINE, "went offline"),
            (removed.minus(&present), FindingId::CPU_UNPLUGGED, "no longer exists"),
        ];
        for (cpus, id, what) in ways.into_iter().filter(|(gone, _, _)| !gone.is_empty()) {
            let level = if cpus.intersects(pair.isolated) {
                Level::Error
            } else {
                Level::Warning
            };
            let message = format!("CPU {cpus} {what}");
            pair.add(id, level, format!("cpu{cpus}"), ValueChange::new(old, new), message);
        }
        if !come.is_empty() {
            let step = ValueChange::new(old, new);
            pair.add(
                FindingId::CPU_ONLINE,
                Level::Warning,
                format!("cpu{come}"),
                step,
                format!("CPU {come} came online"),
            );
        }
    }
    for (id, name, get) in REPORTED_SETS {
        let sets = (get(&before.machine.isolation), get(&after.machine.isolation));
        if let (Some(old), Some(new)) = sets
            && old != new
        {
            let level = if old.is_subset(new) {
                Level::Warning
            } else {
                Level::Error
            };
            let message = format!("{name}: {} -> {}", set_text(old), set_text(new));
            pair.add(id, level, name, ValueChange::new(old, new), message);
        }
    }
}
