//! Maps notifications to the layers that they concern: one row per kind of path.

use super::{Layers, Notification, WriterProcess};
use check::LayerName::{self, BootLine, Interrupts, Knobs, Neighbours, Partition, Tasks};

/// Part of a path, and the layers that a write there can change.
struct ConcernRow {
    prefix: &'static str,
    infix: &'static str,
    layers: &'static [LayerName],
}

const fn row(begins: &'static str, holds: &'static str, layers: &'static [LayerName]) -> ConcernRow {
    ConcernRow {
        prefix: begins,
        infix: holds,
        layers,
    }
}

/// The first match counts. A path without a match concerns no layer.
const ROWS: &[ConcernRow] = &[
    row("/proc/irq/default_smp_affinity", "", &[Knobs]),
    row("/proc/irq/", "", &[Interrupts]),
    row("/proc/sys/", "", &[Knobs, BootLine]),
    row("/", "/cpuset.", &[Partition, Tasks, Knobs]),
    row("/", "/cgroup.subtree_control", &[Partition, Tasks, Knobs]),
    row("/", "/cgroup.", &[Tasks]),
    row("/", "/tasks", &[Tasks]),
    row(
        "/sys/devices/system/cpu/",
        "/online",
        &[Partition, Tasks, Interrupts, Knobs],
    ),
    row("/sys/devices/system/cpu/", "", &[Knobs]),
    row("/sys/devices/", "/queues/", &[Knobs, Interrupts]),
    row("/sys/devices/", "/queue/", &[Knobs]),
    row("/sys/", "workqueue", &[Knobs]),
    row("/sys/kernel/", "", &[Knobs]),
    row("/sys/module/", "", &[Knobs, BootLine]),
    row("/sys/devices/system/machinecheck/", "", &[Knobs]),
];

/// Programs that write interrupt affinities repeatedly.
const SPREADERS: &[&str] = &["irqbalance", "tuned"];

/// The layers to check again.
#[must_use]
pub fn concern(notification: &Notification) -> Layers {
    match notification {
        Notification::Thread => Layers::named(&[Tasks]),
        Notification::Device { action, path } => device(action, path),
        Notification::Network => Layers::named(&[Interrupts, Knobs]),
        Notification::Wrote(writer) => written(&writer.wrote).and(neighbour(writer)),
        Notification::Interrupts => Layers::named(&[Interrupts]),
        Notification::Intention | Notification::Lost => Layers::all(),
        Notification::Round(layers) => *layers,
    }
}

/// Whether a write to this file can change the findings of any layer.
#[must_use]
pub fn concerns(path: &str) -> bool {
    !written(path).is_empty()
}

fn written(path: &str) -> Layers {
    let fits = |row: &&ConcernRow| path.starts_with(row.prefix) && path.contains(row.infix);
    ROWS.iter()
        .find(fits)
        .map(|row| Layers::named(row.layers))
        .unwrap_or_default()
}

/// A program that spreads interrupts may have been started since. A writer without a known name may be one.
fn neighbour(writer: &WriterProcess) -> Layers {
    let is_known_other = writer
        .comm
        .as_ref()
        .is_some_and(|comm| !SPREADERS.contains(&comm.as_str()));
    match writer.wrote.starts_with("/proc/irq/") && !is_known_other {
        true => Layers::named(&[Knobs, Neighbours]),
        false => Layers::default(),
    }
}

/// A driver that is bound brings interrupts and queues; a CPU that appears or disappears changes everything.
fn device(action: &str, path: &str) -> Layers {
    match action {
        "online" | "offline" if path.starts_with("/devices/system/cpu/") => {
            Layers::named(&[Partition, Tasks, Interrupts, Knobs, Neighbours])
        }
        "add" | "remove" | "bind" | "unbind" | "move" => {
            let is_queue = path.contains("/queues/") || path.contains("/net/");
            match is_queue {
                true => Layers::named(&[Interrupts, Knobs]),
                false => Layers::named(&[Interrupts]),
            }
        }
        _ => Layers::default(),
    }
}
