//! A measurement needs as much memory after an hour as after a minute. With thousands of late wake-ups and gaps per
//! second, the lists of the worst samples soon fill up, and no memory grows after that. The tests observe the running
//! binary from outside.

use crate::support::schemas::document;
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time until the lists are full.
const WARM_UP: Duration = Duration::from_secs(5);

/// The length of each window. The maximum of a window is compared with the maximum of all earlier ones.
const WINDOW: Duration = Duration::from_secs(6);

/// The number of windows, of which one must show no growth. A program that keeps every sample grows equally in each.
const WINDOWS: u32 = 6;

/// Histogram buckets that are hit for the first time still take a page each. This takes longer if other programs use
/// the CPU and latencies vary widely. Keeping 24 bytes for each of 4,000 late wake-ups per second, a rate that even a
/// busy machine reaches, would take twice as much.
const GROWTH_KIB: u64 = 320;

/// Returns the resident memory of the process in KiB, or `None` if it has ended.
fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Returns the pid of the sampler, which is a separate process.
fn sampler_of(collector: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{collector}/task/{collector}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// The highest CPU that this process may use.
fn cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().to_owned()
}

/// Returns the largest resident memory of collector and sampler until then, in KiB, sampled 20 times per second.
fn most_until(child: &mut Child, end: Instant) -> [u64; 2] {
    let mut had = [0; 2];
    while Instant::now() < end {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        let pids = [Some(child.id()), sampler_of(child.id())];
        for (had, pid) in had.iter_mut().zip(pids) {
            *had = (*had).max(pid.and_then(resident_kib).unwrap_or(0));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    had
}

#[test]
fn memory_use_is_constant_during_a_long_measurement() {
    let seconds = format!("{}s", (WARM_UP + (WINDOWS + 1) * WINDOW).as_secs() + 1);
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["measure", "all", "--json", "--cpus", &cpu(), "--for", &seconds])
        // Every wake-up is late and makes a gap. There is no `--out`: building intermediate results allocates and frees
        // memory in steps larger than the growth that this test looks for.
        .args([
            "--interval",
            "50us",
            "--policy",
            "other",
            "--spike",
            "1ns",
            "--threshold",
            "200ns",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let warm = most_until(&mut child, began + WARM_UP);
    println!("collector and sampler, KiB: {warm:?} while warming up");
    let mut had = most_until(&mut child, began + WARM_UP + WINDOW);
    let mut grown: Vec<[u64; 2]> = vec![had];
    let flat = (0..WINDOWS).any(|_| {
        let end = Instant::now() + WINDOW;
        let now = most_until(&mut child, end);
        let is_flat = now.iter().zip(had).all(|(now, had)| *now <= had + GROWTH_KIB);
        had = [now[0].max(had[0]), now[1].max(had[1])];
        grown.push(now);
        is_flat
    });
    // SAFETY: a plain call. The child has not been waited for, so its pid is still valid.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let result: Value = document(&child.wait_with_output().unwrap().stdout).unwrap();
    for thread in result["threads"].as_array().unwrap() {
        let list = if thread["kind"] == "latency" { "spikes" } else { "gaps" };
        let total = thread[format!("{list}_total")].as_u64().unwrap();
        let kept = thread[list].as_array().unwrap().len() as u64;
        println!("{total} {list}, {kept} listed");
        // The list was therefore full before the warm-up ended.
        assert!(total >= 4 * kept, "{total} {list} do not fill a list of {kept} early");
    }
    println!("collector and sampler, KiB, each {WINDOW:?}: {grown:?}");
    assert!(grown[0].iter().all(|kib| *kib > 0), "one was not seen: {grown:?}");
    assert!(flat, "it grew all the time, KiB each {WINDOW:?}: {grown:?}");
}
