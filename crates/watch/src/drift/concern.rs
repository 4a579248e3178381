//! Maps notifications to the layers that they concern: one row per kind of path.

use super::{Layers, Notification, Writer};

/// Part of a path, and the layers that a write there can change.
struct Row {
    begins: &'static str,
    holds: &'static str,
    layers: &'static [&'static str],
}

const fn row(begins: &'static str, holds: &'static str, layers: &'static [&'static str]) -> Row {
    Row {
        begins,
        holds,
        layers,
    }
}

/// The first match counts. A path without a match concerns no layer.
const ROWS: &[Row] = &[
    row("/proc/irq/default_smp_affinity", "", &["knobs"]),
    row("/proc/irq/", "", &["interrupts"]),
    row("/proc/sys/", "", &["knobs", "boot line"]),
    row("/", "/cpuset.", &["partition", "tasks", "knobs"]),
    row("/", "/cgroup.subtree_control", &["partition", "tasks", "knobs"]),
    row("/", "/cgroup.", &["tasks"]),
    row("/", "/tasks", &["tasks"]),
    row(
        "/sys/devices/system/cpu/",
        "/online",
        &["partition", "tasks", "interrupts", "knobs"],
    ),
    row("/sys/devices/system/cpu/", "", &["knobs"]),
    row("/sys/devices/", "/queues/", &["knobs", "interrupts"]),
    row("/sys/devices/", "/queue/", &["knobs"]),
    row("/sys/", "workqueue", &["knobs"]),
    row("/sys/kernel/", "", &["knobs"]),
    row("/sys/module/", "", &["knobs", "boot line"]),
    row("/sys/devices/system/machinecheck/", "", &["knobs"]),
];

/// Programs that write interrupt affinities repeatedly.
const SPREADERS: &[&str] = &["irqbalance", "tuned"];

/// The layers to check again.
#[must_use]
pub fn concern(notification: &Notification) -> Layers {
    match notification {
        Notification::Thread => Layers::named(&["tasks"]),
        Notification::Device { action, path } => device(action, path),
        Notification::Network => Layers::named(&["interrupts", "knobs"]),
        Notification::Wrote(writer) => written(&writer.wrote).and(neighbour(writer)),
        Notification::Interrupts => Layers::named(&["interrupts"]),
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
    let fits = |row: &&Row| path.starts_with(row.begins) && path.contains(row.holds);
    ROWS.iter()
        .find(fits)
        .map(|row| Layers::named(row.layers))
        .unwrap_or_default()
}

/// A program that spreads interrupts may have been started since. A writer without a known name may be one.
fn neighbour(writer: &Writer) -> Layers {
    let is_known_other = writer
        .comm
        .as_ref()
        .is_some_and(|comm| !SPREADERS.contains(&comm.as_str()));
    match writer.wrote.starts_with("/proc/irq/") && !is_known_other {
        true => Layers::named(&["knobs", "neighbours"]),
        false => Layers::default(),
    }
}

/// A driver that is bound brings interrupts and queues; a CPU that appears or disappears changes everything.
fn device(action: &str, path: &str) -> Layers {
    match action {
        "online" | "offline" if path.starts_with("/devices/system/cpu/") => {
            Layers::named(&["partition", "tasks", "interrupts", "knobs", "neighbours"])
        }
        "add" | "remove" | "bind" | "unbind" | "move" => {
            let is_queue = path.contains("/queues/") || path.contains("/net/");
            match is_queue {
                true => Layers::named(&["interrupts", "knobs"]),
                false => Layers::named(&["interrupts"]),
            }
        }
        _ => Layers::default(),
    }
}
