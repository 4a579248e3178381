//! Who did it: a finding beside those who wrote files of the kernel just before.
//!
//! Only a write that bears on the finding counts, and it is told with its path, so that everybody can judge it.

use super::{Kept, Writer};

/// Who of these may have caused it, the newest first; nobody where the kernel told of none.
pub fn who(found: &Kept, writers: &[Writer]) -> Vec<Writer> {
    writers
        .iter()
        .filter(|writer| bears_on(found, &writer.wrote))
        .cloned()
        .collect()
}

fn bears_on(found: &Kept, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    match found.layer.as_str() {
        // The list and the mask of an interrupt are one thing in two files.
        "interrupts" => interrupt(path).is_some_and(|irq| interrupt(&found.subject) == Some(irq)),
        "partition" if found.id == "cpu-offline" => {
            name == "online" && path.starts_with("/sys/devices/system/cpu/")
        }
        // The kernel makes a partition invalid for what is written elsewhere in the tree.
        "partition" => {
            name.starts_with("cpuset.") || name == "cgroup.subtree_control" || is_same(&found.subject, path)
        }
        "tasks" => matches!(name, "cgroup.procs" | "cgroup.threads" | "tasks") || name.starts_with("cpuset."),
        _ => is_same(&found.subject, path),
    }
}

fn interrupt(path: &str) -> Option<&str> {
    path.strip_prefix("/proc/irq/")?.split('/').next()
}

/// One file under two names, as `/sys/class/net/eth0/...` is a link into `/sys/devices`.
fn is_same(subject: &str, path: &str) -> bool {
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
