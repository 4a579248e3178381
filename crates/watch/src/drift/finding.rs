//! Defines an open finding of `check`, and the writers that may have caused it.
//!
//! Only a write that affects the finding counts. It is reported with its path, so that the user can judge it.

use super::WriterProcess;
use check::LayerName;
use plan::{FindingId, Level};
use serde::{Deserialize, Serialize};

/// An open finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenFinding {
    /// Its stable id. Text, like the layer: the daemon reads open findings back that another version may have written.
    pub id: String,
    /// What it is about.
    pub subject: String,
    /// The partition that it is about.
    pub partition: String,
    /// The layer that found it.
    pub layer: String,
    /// Its severity.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// The knob that would repair it.
    pub knob: Option<String>,
    /// The time when it appeared, in seconds since 1970.
    pub since_s: u64,
    /// The time when it was last seen, in seconds since 1970.
    pub seen_s: u64,
    /// The writers reported by the kernel, and what they wrote.
    pub by: Vec<WriterProcess>,
}

impl OpenFinding {
    /// Whether both are about the same thing, whatever their messages.
    pub(super) fn is_same(&self, other: &OpenFinding) -> bool {
        self.id == other.id && self.subject == other.subject && self.partition == other.partition
    }

    /// The layer that found it; `None` if this version has no such layer.
    pub(super) fn known_layer(&self) -> Option<LayerName> {
        LayerName::parse(&self.layer)
    }

    /// Its age in seconds.
    #[must_use]
    pub fn age_s(&self, now_s: u64) -> u64 {
        now_s.saturating_sub(self.since_s)
    }
}

/// The writers that may have caused it, in the same order; empty if the kernel reported none.
pub(super) fn likely_writers(found: &OpenFinding, writers: &[WriterProcess]) -> Vec<WriterProcess> {
    writers
        .iter()
        .filter(|writer| concerns(found, &writer.wrote))
        .cloned()
        .collect()
}

fn concerns(found: &OpenFinding, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    match found.known_layer() {
        // The list and the mask of an interrupt are the same setting in two files.
        Some(LayerName::Interrupts) => interrupt(path).is_some_and(|irq| interrupt(&found.subject) == Some(irq)),
        Some(LayerName::Partition) if found.id == FindingId::CPU_OFFLINE.as_str() => {
            name == "online" && path.starts_with("/sys/devices/system/cpu/")
        }
        // Writes elsewhere in the tree can make a partition invalid.
        Some(LayerName::Partition) => {
            name.starts_with("cpuset.") || name == "cgroup.subtree_control" || is_same_file(&found.subject, path)
        }
        Some(LayerName::Tasks) => {
            matches!(name, "cgroup.procs" | "cgroup.threads" | "tasks") || name.starts_with("cpuset.")
        }
        _ => is_same_file(&found.subject, path),
    }
}

fn interrupt(path: &str) -> Option<&str> {
    path.strip_prefix("/proc/irq/")?.split('/').next()
}

/// Whether two paths name one file: `/sys/class/net/eth0/...` is a link into `/sys/devices`.
fn is_same_file(subject: &str, path: &str) -> bool {
    if subject == path {
        return true;
    }
    let ends = |path: &str, count: usize| -> Vec<String> { path.rsplit('/').take(count).map(str::to_owned).collect() };
    let is_both_in_sys = subject.starts_with("/sys/") && path.starts_with("/sys/");
    is_both_in_sys
        && (ends(subject, 4) == ends(path, 4) || (subject.contains("workqueue") && ends(subject, 2) == ends(path, 2)))
}
