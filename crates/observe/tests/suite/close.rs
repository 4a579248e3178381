//! Detailed counts of single CPUs, from files of a simulated machine and from this one.

use machine::{CpuId, CpuSet, Machine};
use observe::{CloseActivity, CloseSample, IdleStateEntries, ThreadActivity, close_up, parse_timeslices};
use root::Root;
use std::path::{Path, PathBuf};

const SCHEDSTAT: &str = "version 17\ntimestamp 4297299139\n\
    cpu0 0 0 0 0 0 0 11 12 13\n\
    domain0 MC 3 0 0 0 0\n\
    cpu1 0 0 7 0 0 0 21 22 23\n";

#[test]
fn time_slices_are_counted_without_scheduler_statistics() {
    let slices = parse_timeslices(SCHEDSTAT).unwrap();
    assert_eq!(slices.into_iter().collect::<Vec<_>>(), [(0, 13), (1, 23)]);
    assert_eq!(parse_timeslices("version 99\ncpu0 1 2 3 4 5 6 7 8 9\n"), None);
    let short = parse_timeslices("version 15\ncpu0 1 2 3\n").unwrap();
    assert!(short.is_empty(), "{short:?}");
}

/// A directory with the files that are read.
struct CounterFiles(PathBuf);

impl CounterFiles {
    fn new(name: &str) -> CounterFiles {
        let dir = std::env::temp_dir().join(format!("quietcore-close-{}-{name}", std::process::id()));
        let tree = CounterFiles(dir);
        tree.file("proc/schedstat", SCHEDSTAT);
        tree.state(0, "POLL", 0, 5);
        tree.state(1, "C1", 2, 10);
        tree.state(2, "C6", 133, 20);
        tree.file("sys/devices/system/cpu/cpu1/cpufreq/stats/total_trans", "100\n");
        tree.thread(100, "a) b (", 40, 2, 500);
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn state(&self, number: u32, name: &str, latency: u64, usage: u64) {
        for (file, value) in [
            ("name", name.to_owned()),
            ("latency", latency.to_string()),
            ("usage", usage.to_string()),
        ] {
            let dir = "sys/devices/system/cpu/cpu1/cpuidle";
            self.file(&format!("{dir}/state{number}/{file}"), &format!("{value}\n"));
        }
    }

    fn thread(&self, start: u64, comm: &str, minor: u64, major: u64, switches: u64) {
        let stat = format!(
            "77 ({comm}) S 1 77 77 0 -1 4194304 {minor} 9 {major} 9 1 2 3 4 20 0 1 0 {start} 5 6 7 8 9 10 11 12 13 14 15 16 \
             17 18 19 17 1 0 0 0 0 0\n"
        );
        for dir in ["proc/77", "proc/77/task/77"] {
            self.file(&format!("{dir}/stat"), &stat);
            self.file(
                &format!("{dir}/status"),
                &format!("Name:\tx\nTgid:\t77\nPid:\t77\nCpus_allowed_list:\t1\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t3\n"),
            );
        }
    }

    fn sample(&self) -> CloseSample {
        let root = Root::open(&self.0).unwrap();
        let tasks = Machine::read(&root).with_tasks(&root).tasks.unwrap();
        assert_eq!(tasks.len(), 1, "{tasks:?}");
        CloseSample::take(&root, &one(), &tasks)
    }
}

impl Drop for CounterFiles {
    fn drop(&mut self) {
        std::fs::remove_dir_all(Path::new(&self.0)).ok();
    }
}

fn one() -> CpuSet {
    CpuSet::parse_list("1").unwrap()
}

fn between(before: &CloseSample, after: &CloseSample) -> CloseActivity {
    close_up(before, after).remove(&CpuId(1)).unwrap()
}

#[test]
fn increases_are_reported_and_missing_counters_are_unknown() {
    let tree = CounterFiles::new("grew");
    let before = tree.sample();
    tree.file("proc/schedstat", &SCHEDSTAT.replace("21 22 23", "21 22 30"));
    tree.state(2, "C6", 133, 24);
    tree.file("sys/devices/system/cpu/cpu1/cpufreq/stats/total_trans", "103\n");
    tree.thread(100, "a) b (", 45, 3, 510);
    let seen = between(&before, &tree.sample());
    let expected = CloseActivity {
        timeslices: Some(7),
        idle: Some(vec![IdleStateEntries {
            name: "C6".to_owned(),
            latency_us: 133,
            count: 4,
        }]),
        frequency_changes: Some(3),
        throttled: None,
        threads: vec![ThreadActivity {
            tid: 77,
            comm: "a) b (".to_owned(),
            minor_faults: 5,
            major_faults: 1,
            switches: Some(10),
        }],
    };
    assert_eq!(seen, expected);
    let text = serde_json::to_string(&seen).unwrap();
    assert_eq!(serde_json::from_str::<CloseActivity>(&text).unwrap(), seen);
}

#[test]
fn a_reused_thread_number_gets_no_activity() {
    let tree = CounterFiles::new("other");
    let before = tree.sample();
    assert_eq!(between(&before, &tree.sample()).threads, Vec::new(), "nothing happened");
    tree.thread(200, "other", 4_000, 30, 5_000);
    assert_eq!(between(&before, &tree.sample()).threads, Vec::new());
    tree.thread(100, "a) b (", 41, 2, 500);
    assert_eq!(between(&before, &tree.sample()).threads.len(), 1);
}

#[test]
fn page_faults_of_this_thread_are_counted() {
    let root = Root::live();
    let mut own = Vec::new();
    root::sched::affinity(0, &mut own).unwrap();
    let mut mask = CpuSet::new();
    mask.set_words(&own);
    let cpu = mask.iter().next().unwrap();
    let here = CpuSet::range(cpu.0, cpu.0);
    root::sched::set_affinity(0, &here.words()).unwrap();
    let tasks = Machine::read(&root).with_tasks(&root).tasks.unwrap();
    let before = CloseSample::take(&root, &here, &tasks);
    let mut pages = vec![0_u8; 400 * 4096];
    pages.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&pages);
    let seen = close_up(&before, &CloseSample::take(&root, &here, &tasks))
        .remove(&cpu)
        .unwrap();
    root::sched::set_affinity(0, &own).unwrap();
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let me = seen.threads.iter().find(|one| i64::from(one.tid) == i64::from(tid));
    assert!(me.is_some_and(|me| me.minor_faults > 0), "{seen:?}");
}
