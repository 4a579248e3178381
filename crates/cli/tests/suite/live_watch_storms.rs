//! `watch --daemon` in storms of unrelated processes and of writes to a watched file. Its memory stays bounded, and it
//! checks at the stated rate.

use crate::support::watched::{DaemonDirectory, TestDaemon, is_able};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use watch::drift::Interval;

/// Returns what the daemon counts about its checks after the given number of signals: how many, their total time and
/// the longest, in milliseconds.
fn counted(place: &DaemonDirectory, daemon: &TestDaemon, turn: usize) -> [u64; 3] {
    daemon.signal(libc::SIGHUP);
    place.until("the signal", |_| {
        let reported = place.lines();
        reported.iter().filter(|one| one["event"] == "configuration").count() == turn
    });
    // The state file is replaced after the line is logged. Its timestamp is taken before it is read, so the content is
    // never older.
    let modified = |path: PathBuf| std::fs::metadata(path).and_then(|file| file.modified()).unwrap();
    let start = Instant::now();
    while modified(place.path("run/quietcore/watch/state")) < modified(place.log()) {
        assert!(start.elapsed() < Duration::from_secs(60), "the state stays old");
        std::thread::sleep(Duration::from_millis(5));
    }
    let state = place.state();
    ["questions", "spent_ms", "longest_ms"].map(|name| state["asked"][name].as_u64().unwrap())
}

/// An endless stream of processes does not fill the daemon's memory, and it still reports relevant changes.
#[test]
fn a_fork_storm_neither_fills_memory_nor_blocks_the_daemon() {
    if !is_able("a_fork_storm_neither_fills_memory_nor_blocks_the_daemon") {
        return;
    }
    let place = DaemonDirectory::new();
    let daemon = place.daemon("");
    place.until_it_watches();
    let kilobytes = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap()
            .to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let storm = || {
        let line = "for turn in $(seq 1000); do /bin/true; done";
        let status = Command::new("sh").args(["-c", line]).status().unwrap();
        assert!(status.success());
    };
    storm();
    let requested = counted(&place, &daemon, 1)[0];
    let before = kilobytes();
    storm();
    storm();
    assert!(kilobytes() < before + 4_096, "{before} kB became {} kB", kilobytes());
    let more = counted(&place, &daemon, 2)[0] - requested;
    assert!(more < 100, "{more} questions for 2,000 processes");
    assert_eq!(daemon.end(), Some(0));
}

/// An endless stream of writes is checked at a limited rate: neither more often nor with a larger share of a CPU.
#[test]
fn a_storm_of_writes_causes_only_a_few_checks() {
    if !is_able("a_storm_of_writes_causes_only_a_few_checks") {
        return;
    }
    let mask = "/proc/irq/default_smp_affinity";
    let same = std::fs::read_to_string(mask).unwrap();
    let place = DaemonDirectory::new();
    let daemon = place.daemon("");
    place.until_it_watches();
    let began = Instant::now();
    let before = counted(&place, &daemon, 1);
    while began.elapsed() < Duration::from_secs(5) {
        std::fs::write(mask, &same).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let after = counted(&place, &daemon, 2);
    let [questions, spent_ms] = [0, 1].map(|field| after[field] - before[field]);
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap();
    let least = Interval::QUESTIONS.pause(Duration::ZERO);
    let most = elapsed_ms / u64::try_from(least.as_millis()).unwrap() + 2;
    assert!(
        (2..=most).contains(&questions),
        "{questions} questions within {elapsed_ms} ms: {before:?}, {after:?}"
    );
    // The limit is a share of the time between two checks, so it is below the same share of the whole. The last
    // interval is still open.
    let share = Interval::QUESTIONS.share(Duration::from_millis(after[2]));
    let most_ms = elapsed_ms as f64 * share + after[2] as f64;
    assert!(
        (spent_ms as f64) < most_ms,
        "{spent_ms} ms of a CPU within {elapsed_ms} ms, {most_ms:.0} at most: {before:?}, {after:?}"
    );
    assert_eq!(daemon.end(), Some(0));
}
