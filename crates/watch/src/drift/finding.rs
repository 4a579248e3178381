//! A finding of `check` that is open, and the writers that may have caused it.
//!
//! Only a write that bears on the finding counts. It is reported with its path, so that everybody can judge it.

use super::Writer;
use plan::Level;
use serde::{Deserialize, Serialize};

/// A finding that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFinding {
    /// Its stable id.
    pub id: String,
    /// What it is about.
    pub subject: String,
    /// The partition that it is about.
    pub partition: String,
    /// The layer that found it.
    pub layer: String,
    /// How much it matters.
    pub level: Level,
    /// What is so.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// The knob that would mend it.
    pub knob: Option<String>,
    /// Since when it stands, in seconds since 1970.
    pub since_s: u64,
    /// When it was last seen, in seconds since 1970.
    pub seen_s: u64,
    /// Who wrote what, where the kernel told of it.
    pub by: Vec<Writer>,
}

impl OpenFinding {
    /// Whether both are about the same thing, whatever they say of it.
    pub(super) fn is_same(&self, other: &OpenFinding) -> bool {
        self.id == other.id && self.subject == other.subject && self.partition == other.partition
    }

    /// For how long it stands, in seconds.
    #[must_use]
    pub fn age_s(&self, now_s: u64) -> u64 {
        now_s.saturating_sub(self.since_s)
    }
}

/// Which of these writers may have caused it, in their order; none where the kernel reported none.
pub(super) fn likely_writers(found: &OpenFinding, writers: &[Writer]) -> Vec<Writer> {
    writers
        .iter()
        .filter(|writer| bears_on(found, &writer.wrote))
        .cloned()
        .collect()
}

fn bears_on(found: &OpenFinding, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    match found.layer.as_str() {
        // The list and the mask of an interrupt are one thing in two files.
        "interrupts" => interrupt(path).is_some_and(|irq| interrupt(&found.subject) == Some(irq)),
        "partition" if found.id == "cpu-offline" => {
            name == "online" && path.starts_with("/sys/devices/system/cpu/")
        }
        // The kernel makes a partition invalid for what is written elsewhere in the tree.
        "partition" => {
            name.starts_with("cpuset.")
                || name == "cgroup.subtree_control"
                || is_same_file(&found.subject, path)
        }
        "tasks" => matches!(name, "cgroup.procs" | "cgroup.threads" | "tasks") || name.starts_with("cpuset."),
        _ => is_same_file(&found.subject, path),
    }
}

fn interrupt(path: &str) -> Option<&str> {
    path.strip_prefix("/proc/irq/")?.split('/').next()
}

/// One file under two names, as `/sys/class/net/eth0/...` is a link into `/sys/devices`.
fn is_same_file(subject: &str, path: &str) -> bool {
    if subject == path {
        return true;
    }
    let ends = |path: &str, count: usize| -> Vec<String> {
        path.rsplit('/').take(count).map(str::to_owned).collect()
    };
    let is_both_in_sys = subject.starts_with("/sys/") && path.starts_with("/sys/");
    is_both_in_sys
        && (ends(subject, 4) == ends(path, 4)
            || (subject.contains("workqueue") && ends(subject, 2) == ends(path, 2)))
}
