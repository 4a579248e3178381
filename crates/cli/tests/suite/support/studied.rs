//! Support for tests of `study`: a study of two cells, whether this machine can run it, and the state that must be
//! restored.

use crate::support::alone;
use crate::support::program::quietcore;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

/// Exists while a partition is active.
pub const JOURNAL: &str = "/run/quietcore/journal";

/// Returns a study with two repetitions of one second each on a CPU, over these axes.
pub fn study_of(cpu: &str, axes: &str) -> String {
    format!(
        "repetitions = 2\nseed = 3\n[measure]\nwhat = \"latency\"\ncpus = \"{cpu}\"\nfor = \"1s\"\npolicy = \"other\"\n\
         [axes]\n{axes}\n"
    )
}

/// Writes the file of a study.
pub fn written(dir: &Path, text: &str) -> String {
    let file = dir.join("study.toml");
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Returns standard output and standard error.
pub fn output_text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Returns whether studies can run here. Prints a skip message if not.
pub fn is_able(test: &str) -> bool {
    let is_root = fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t");
    let plan = quietcore(&["plan", "--cpus", &alone::cpu(), "--json"]);
    if !is_root || !plan.status.success() {
        println!(
            "SKIP: {test}: no CPU can be isolated here (it needs root, two CPUs and cpusets): {}",
            output_text(&plan)
        );
        return false;
    }
    // Waits for another process's partition, which is not a leftover of these tests.
    until("that no partition is active", || !Path::new(JOURNAL).exists());
    // In a container a plan may list changes that are then not permitted.
    let apply = quietcore(&["apply", "--cpus", &alone::cpu()]);
    let undo = quietcore(&["undo"]);
    if matches!(apply.status.code(), Some(3 | 4)) {
        println!("SKIP: {test}: no CPU may be isolated here: {}", output_text(&apply));
        return false;
    }
    assert!(
        apply.status.success() && undo.status.success(),
        "{}{}",
        output_text(&apply),
        output_text(&undo)
    );
    true
}

/// Waits for a condition, and fails the test after a timeout.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the state that isolation changes and that other programs normally leave alone.
pub fn state() -> BTreeMap<String, String> {
    let mut paths: Vec<PathBuf> = [
        "/proc/irq/default_smp_affinity",
        "/proc/sys/kernel/timer_migration",
        "/sys/devices/virtual/workqueue/cpumask",
    ]
    .map(PathBuf::from)
    .to_vec();
    let interrupts = fs::read_dir("/proc/irq").unwrap();
    paths.extend(interrupts.map(|entry| entry.unwrap().path().join("smp_affinity_list")));
    let content = |path: PathBuf| Some((path.display().to_string(), fs::read_to_string(&path).ok()?));
    let mut state: BTreeMap<String, String> = paths.into_iter().filter_map(content).collect();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"))
        .unwrap();
    state.insert("this process".to_owned(), allowed.to_owned());
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"] {
        let names = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name());
        let ours: Vec<_> = names.filter(|name| name.to_string_lossy().contains("study")).collect();
        state.insert(folder.to_owned(), format!("{ours:?}"));
    }
    state.insert("journal".to_owned(), Path::new(JOURNAL).exists().to_string());
    state
}

/// Runs a study into a directory.
pub fn run(file: &str, out: &Path) -> Output {
    quietcore(&["study", "run", file, "--json", "--out", &out.display().to_string()])
}

/// The axis of both isolation levels.
pub const BOTH: &str = "isolation = [\"none\", \"balanced\"]";
