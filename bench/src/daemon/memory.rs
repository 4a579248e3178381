//! Measures the memory of `watch --daemon` at the start, after a tenth of the time and at the end. During that time
//! findings appear and disappear, threads start and end, and everything is queried repeatedly.
//!
//! Memory that grows over time grows with the number of events, not with the clock. Minutes of this benchmark have as
//! many events as days of an idle machine. The counts are printed next to the memory.

use super::{BenchDaemon, line_of, start};
use std::fs::read_to_string;
use std::path::Path;
use std::time::{Duration, Instant};
use xtask::error::{TaskResult, XtaskError};

/// Number of threads that start and end in each round. One of them requests the watched CPU.
const THREADS: u64 = 50;

/// Time between two rounds. The daemon then handles all events since its last check at once.
const INTERVAL: Duration = Duration::from_millis(100);

/// Fields of `/proc/PID/smaps_rollup`, in kB. Anonymous is the heap and the stacks, without the program's own file.
const SIZES: [&str; 3] = ["Rss:", "Pss:", "Anonymous:"];

/// Memory use at one time.
#[derive(Clone, Copy, Default)]
struct MemoryUse {
    /// The fields of [`SIZES`], in kB.
    kib: [u64; 3],
    files: usize,
    questions: u64,
}

/// Causes events for this time, and prints the memory of the daemon.
///
/// # Errors
/// The daemon could not be started or read, or ended early.
pub(super) fn measure_held(binary: &Path, time: Duration) -> TaskResult {
    // SAFETY: a plain call without arguments.
    let is_root = unsafe { libc::geteuid() } == 0;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if !is_root || cpus < 2 {
        println!("SKIP: what watch --daemon holds: it needs root and a second CPU");
        return Ok(());
    }
    let watched = cpus - 1;
    let daemon = start(binary, "", &declared(watched, 0))?;
    std::thread::sleep(Duration::from_secs(3));
    let first = read_memory(&daemon)?;
    let (start_time, mut turns, mut tenth) = (Instant::now(), 0, None);
    while start_time.elapsed() < time {
        turns += 1;
        cause_events(&daemon, watched, turns)?;
        if tenth.is_none() && start_time.elapsed() >= time / 10 {
            tenth = Some((read_memory(&daemon)?, turns));
        }
        std::thread::sleep(INTERVAL);
    }
    let last = read_memory(&daemon)?;
    let (tenth, turns_then) = tenth.unwrap_or((first, 0));
    let log = daemon.dir.join("log");
    let text = read_to_string(&log).map_err(XtaskError::file(&log))?;
    let count_of = |event: &str| text.matches(&format!("\"event\":\"{event}\"")).count();
    println!(
        "watch --daemon for {:.0} s: {} findings appeared, {} went; {turns} times another partition was declared; {} threads",
        start_time.elapsed().as_secs_f64(),
        count_of("appeared"),
        count_of("gone"),
        turns * THREADS
    );
    println!(
        "  {:<26} {:>10} {:>10} {:>10} {:>12}",
        "", "start", "a tenth", "end", "end / tenth"
    );
    for (place, name) in ["RSS, KiB", "PSS, KiB", "heap and stacks, KiB"].into_iter().enumerate() {
        let kib = [first, tenth, last].map(|held| held.kib.get(place).copied().unwrap_or(0));
        println!(
            "  {name:<26} {:>10} {:>10} {:>10} {:>12.3}",
            kib[0],
            kib[1],
            kib[2],
            kib[2] as f64 / kib[1] as f64
        );
    }
    for (name, numbers) in [
        ("open files", [first, tenth, last].map(|held| held.files as u64)),
        ("questions asked", [first, tenth, last].map(|held| held.questions)),
        ("turns", [0, turns_then, turns]),
    ] {
        println!("  {name:<26} {:>10} {:>10} {:>10}", numbers[0], numbers[1], numbers[2]);
    }
    Ok(())
}

/// Each round declares another partition on the same CPU: all findings of the previous one disappear, and those of the
/// new one appear.
fn declared(watched: usize, turn: u64) -> String {
    format!(
        "[watch]\nlevel = \"info\"\nalert = [\"/bin/true\"]\n[[partition]]\nname = \"turn-{turn}\"\ncpus = \"{watched}\"\n"
    )
}

fn cause_events(daemon: &BenchDaemon, watched: usize, turn: u64) -> TaskResult {
    let file = daemon.dir.join("etc/quietcore.toml");
    let part = daemon.dir.join("etc/next");
    // Renamed, so that the daemon never reads an incomplete file.
    std::fs::write(&part, declared(watched, turn)).map_err(XtaskError::file(&part))?;
    std::fs::rename(&part, &file).map_err(XtaskError::file(&file))?;
    let born: Vec<_> = (0..THREADS)
        .filter_map(|number| {
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            thread
                .spawn(move || {
                    if number == 0 {
                        go_to(watched);
                        std::thread::sleep(INTERVAL);
                    }
                })
                .ok()
        })
        .collect();
    // SAFETY: plain numbers; the child is ours and not reaped yet.
    unsafe { libc::kill(i32::try_from(daemon.child.id()).unwrap_or(0), libc::SIGHUP) };
    for thread in born {
        let _ = thread.join();
    }
    Ok(())
}

/// Pins the calling thread to a CPU.
fn go_to(cpu: usize) {
    let mut words = [0_u64; 16];
    if let Some(word) = words.get_mut(cpu / 64) {
        *word = 1 << (cpu % 64);
    }
    // SAFETY: the kernel reads the given number of bytes. If it refuses, the thread keeps its CPUs.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&words), words.as_ptr()) };
}

fn read_memory(daemon: &BenchDaemon) -> TaskResult<MemoryUse> {
    let pid = daemon.child.id();
    let rollup = format!("/proc/{pid}/smaps_rollup");
    let mut held = MemoryUse::default();
    for (size, name) in held.kib.iter_mut().zip(SIZES) {
        let line = line_of(&rollup, name)?;
        *size = line
            .split_whitespace()
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0);
    }
    held.files = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let state = daemon.dir.join("run/quietcore/watch/state");
    let text = read_to_string(&state).map_err(XtaskError::file(&state))?;
    let state: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    held.questions = state["asked"]["questions"].as_u64().unwrap_or(0);
    Ok(held)
}
