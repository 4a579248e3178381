//! Reads the state that isolation may change, as sorted lines, and compares two such states.
//!
//! This is the lab's own view and shares no code with the journal that it checks. Only the names of the knobs' files
//! are those that the knobs declare.

use crate::tasks;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

/// Directories of settings that isolation tools change, in addition to those of knobs. Whole trees are read;
/// [`skipped`] excludes values that change without an isolation tool.
const TREES: &[&str] = &[
    "/sys/fs/cgroup",
    "/proc/irq",
    "/sys/devices/virtual/workqueue",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/debug/sched",
    "/sys/kernel/tracing/current_tracer",
    "/sys/kernel/tracing/tracing_on",
    "/sys/kernel/tracing/instances",
    "/sys/devices/system/cpu",
    "/sys/devices/system/clocksource",
    "/sys/module/rcupdate/parameters",
    "/sys/module/watchdog/parameters",
    "/sys/block",
    "/sys/class/net",
    "/run/quietcore",
];

/// Files that a knob sets. Task lists are left out: [`read`] records each task with its cgroup.
fn knob_files() -> impl Iterator<Item = &'static str> {
    let files = plan::KNOBS.iter().flat_map(|knob| knob.files).copied();
    files.filter(|file| {
        let is_kernel = file.starts_with("/proc/") || file.starts_with("/sys/");
        is_kernel && !file.ends_with("/cgroup.procs") && !file.ends_with("/tasks")
    })
}

/// Directories of knobs' files outside of [`TREES`].
fn knob_trees() -> impl Iterator<Item = &'static str> {
    let outside = knob_files().filter(|file| !TREES.iter().any(|tree| file.starts_with(tree)));
    outside.filter_map(|file| {
        let fixed = file.split(|letter: char| letter.is_ascii_uppercase()).next()?;
        Some(fixed.rsplit_once('/')?.0)
    })
}

/// Whether a file is a setting, or a list derived from settings.
fn is_setting(path: &str) -> bool {
    const ENDS: &[&str] = &[
        "cpuset.cpus",
        "cpuset.mems",
        "cpuset.cpus.partition",
        "cpuset.cpus.exclusive",
        "cpuset.cpus.effective",
        "cpuset.mems.effective",
        "cpuset.cpu_exclusive",
        "cpuset.mem_exclusive",
        "cpuset.mem_hardwall",
        "cpuset.memory_migrate",
        "cpuset.memory_spread_page",
        "cpuset.memory_spread_slab",
        "cpuset.sched_load_balance",
        "cpuset.sched_relax_domain_level",
        "cgroup.clone_children",
        "cgroup.subtree_control",
        "cgroup.type",
        "cpuset.cpus.isolated",
        "notify_on_release",
        "cpumask",
        "cpu_mask",
        "online",
        "governor",
        "scaling_max_freq",
        "current_clocksource",
        "current_tracer",
        "tracing_on",
        "enabled",
        "defrag",
        "runtime",
        "features",
        "isolated",
        "offline",
        "journal",
    ];
    let in_sysctl = path.starts_with("/proc/sys/") && !path.contains("/random/") && !path.contains("/ns_last_pid");
    in_sysctl || ENDS.iter().any(|end| path.ends_with(end)) || is_knob_file(path)
}

/// Whether a knob sets this file. Only declarations with the same last component are compared: in the emulator, all of them
/// would take most of the time of a state.
fn is_knob_file(path: &str) -> bool {
    static BY_NAME: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for file in knob_files() {
            let name = file.rsplit('/').next().unwrap_or_default();
            let is_any = name.contains(|letter: char| letter.is_ascii_uppercase());
            by_name.entry(if is_any { "" } else { name }).or_default().push(file);
        }
        by_name
    });
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut declared = [name, ""].into_iter().filter_map(|name| BY_NAME.get(name)).flatten();
    declared.any(|file| plan::knobs::is_file(file, path))
}

/// Values among the settings that the kernel itself changes, or that must not be read.
fn skipped(path: &str) -> bool {
    // Reading `stat_refresh` makes every CPU work. The kernel lowers the sample rate on its own.
    const CHANGING_FILES: &[&str] = &[
        "/proc/sys/kernel/pty",
        "sched_domain",
        "perf_event_max_sample_rate",
        "/proc/sys/vm/stat_refresh",
    ];
    // A scenario in which a partition stays active excludes the journal.
    static LEAVES: LazyLock<String> = LazyLock::new(|| std::env::var("LAB_STATE_LEAVES").unwrap_or_default());
    CHANGING_FILES.iter().any(|part| path.contains(part)) || (!LEAVES.is_empty() && path.starts_with(LEAVES.as_str()))
}

/// `lab-guest state`.
pub fn print() -> Result<(), String> {
    for (key, value) in read() {
        println!("{key} = {value}");
    }
    Ok(())
}

/// Every setting, and every task's mask, policy and cgroup.
pub fn read() -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for tree in TREES.iter().copied().chain(knob_trees()) {
        walk(Path::new(tree), &mut state);
    }
    let me = std::process::id();
    for task in tasks::all().iter().filter(|task| task.pid != me && !rescuer(task)) {
        // An interrupt thread follows the CPU of its interrupt (`irq_thread_check_affinity`).
        if task.kernel() && task.comm.starts_with("irq/") {
            continue;
        }
        // The name and policy of a kernel worker change with its work. Its mask does not.
        let what = match task.kernel() && task.comm.starts_with("kworker") {
            true => format!("{} {}", task.allowed, task.cgroup),
            false => format!("{} {} {} {}", task.comm, task.allowed, task.policy, task.cgroup),
        };
        let kind = if task.kernel() { "kthread" } else { "task" };
        state.insert(format!("{kind} {} born {}", task.tid, task.start), what);
    }
    state
}

/// Whether a task is the rescuer of a workqueue. It has the mask of the pool that it rescued last, and only the kernel
/// may set it (`rescuer_thread`, `kernel/workqueue.c`). Threads of one CPU have the CPU number in their name.
fn rescuer(task: &tasks::ProcTask) -> bool {
    task.kernel() && !task.movable() && !task.comm.contains('/')
}

/// The differences between two states: all settings, and tasks that exist in both. New and ended tasks are not
/// differences.
pub fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let is_task = |key: &str| key.starts_with("task ") || key.starts_with("kthread ");
    let mut found = Vec::new();
    for (key, old) in before {
        match after.get(key) {
            Some(new) if new != old => found.push(format!("{key}: {old:?} became {new:?}")),
            None if !is_task(key) => found.push(format!("{key}: {old:?} is gone")),
            _ => {}
        }
    }
    let fresh = after
        .iter()
        .filter(|(key, _)| !is_task(key) && !before.contains_key(*key));
    found.extend(fresh.map(|(key, new)| format!("{key}: {new:?} is new")));
    found
}

/// `lab-guest diff A B`.
pub fn diff_files(before: &str, after: &str) -> ExitCode {
    let load = |path: &str| -> Option<BTreeMap<String, String>> {
        let text = std::fs::read_to_string(path).ok()?;
        let pair = |line: &str| {
            line.split_once(" = ")
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        };
        Some(text.lines().filter_map(pair).collect())
    };
    let (Some(before), Some(after)) = (load(before), load(after)) else {
        eprintln!("lab-guest: a state cannot be read");
        return ExitCode::from(2);
    };
    if before.len() < 50 || after.len() < 50 {
        eprintln!("lab-guest: a state is too small to be one");
        return ExitCode::from(2);
    }
    let found = differences(&before, &after);
    for line in &found {
        println!("{line}");
    }
    if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}

fn walk(top: &Path, state: &mut BTreeMap<String, String>) {
    let mut open: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        let name = path.display().to_string();
        if skipped(&name) {
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&path) else {
            // One of the trees is a single file, or does not exist.
            if path.is_file() {
                record(&name, state);
            }
            continue;
        };
        if name.starts_with("/sys/fs/cgroup/") {
            state.insert(format!("{name}/"), "directory".to_owned());
        }
        for entry in entries.flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let inside = path.display().to_string();
            // Links in sysfs point to directories that are walked under their own names, or form cycles. But the
            // entries of /sys/block and /sys/class/net are links themselves.
            let device = name == "/sys/block" || name == "/sys/class/net";
            if device || kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                open.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file()) {
                record(&inside, state);
            }
        }
    }
}

fn record(name: &str, state: &mut BTreeMap<String, String>) {
    if is_setting(name) && !skipped(name) {
        let value = std::fs::read(name).map(|bytes| String::from_utf8_lossy(&bytes).trim().replace('\n', "|"));
        state.insert(name.to_owned(), value.unwrap_or_else(|error| format!("({error})")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_contains_every_file_that_a_knob_sets() {
        let names = [("NAME", "rt"), ("DISK", "sda"), ("IF", "eth0"), ("N", "3"), ("M", "1")];
        for file in knob_files() {
            let path = names
                .iter()
                .fold(file.to_owned(), |path, (word, name)| path.replace(word, name));
            let is_walked = TREES
                .iter()
                .copied()
                .chain(knob_trees())
                .any(|tree| path.starts_with(tree));
            assert!(is_walked && is_setting(&path) && !skipped(&path), "{file}");
        }
    }
}
