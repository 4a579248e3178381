//! `make bench-daemon`: measures the cost of `watch --daemon` and the CPUs that it runs on, and estimates the cost on a
//! large machine. Also measures its memory after thousands of changes. During the measurement a CPU of this machine is
//! isolated; the isolation is undone afterwards.

mod disturbs;
mod memory;

use crate::generate::{Size, machine};
use crate::speed::{measured, ms, with};
use std::collections::BTreeMap;
use std::fs::{create_dir_all, read_to_string, remove_dir_all};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use watch::drift::Interval;
use xtask::error::{TaskResult, XtaskError, product, target_dir};

/// The machine that the limit refers to.
const LARGE: Size = Size {
    cpus: 64,
    irqs: 500,
    tasks: 2_000,
};

/// Maximum share of one CPU that the daemon may use on that machine.
const BOUND: f64 = 0.001;

/// For how long `blame` watches the isolated CPU.
const TRACED: Duration = Duration::from_secs(20);

/// Runs the benchmark and prints all results. `--seconds N` sets the measuring time, a minute by default. `--memory N`
/// only measures the daemon's memory, for N seconds of continuous changes.
///
/// # Errors
/// [`XtaskError::Failed`] when the limit was violated or the daemon ran on a forbidden CPU; other errors when the
/// benchmark could not run at all.
pub(crate) fn run(words: &[&str]) -> TaskResult {
    let (what, number) = match words {
        [what @ ("--seconds" | "--memory"), number] => (*what, number.parse().ok()),
        [] => ("--seconds", Some(60)),
        _ => ("", None),
    };
    let seconds: u64 = number.ok_or_else(|| XtaskError::Program {
        program: "bench-daemon".into(),
        why: "it takes `--seconds N` or `--memory N` and nothing else".into(),
    })?;
    let binary = product()?;
    if what == "--memory" {
        return memory::measure_held(&binary, Duration::from_secs(seconds));
    }
    let is_cheap = for_a_large_machine(&binary)?;
    // SAFETY: a plain call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIP: watch --daemon on this machine: it needs root");
        return if is_cheap { Ok(()) } else { Err(XtaskError::Failed) };
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 {
        println!("SKIP: watch --daemon on this machine: it needs a second CPU");
        return if is_cheap { Ok(()) } else { Err(XtaskError::Failed) };
    }
    let watched = (cpus - 1).to_string();
    // This may create a mount namespace, which requires a single-threaded process, so it runs before any thread is
    // created.
    let is_quiet = disturbs::disturbs(&binary, &watched, TRACED)?;
    match here(&binary, &watched, Duration::from_secs(seconds))? && is_quiet && is_cheap {
        true => Ok(()),
        false => Err(XtaskError::Failed),
    }
}

/// Estimates the cost on the large machine. Returns whether it is within the limit.
fn for_a_large_machine(binary: &Path) -> TaskResult<bool> {
    let dir = target_dir().join("bench-daemon-machine");
    if !dir.exists() {
        machine(&dir, LARGE)?;
    }
    let root = dir.display().to_string();
    let best = |words: &[&str]| -> TaskResult<Duration> {
        let mut costs = Vec::new();
        for _ in 0..5 {
            costs.push(measured(&mut with(binary, words))?.cpu());
        }
        Ok(costs.into_iter().min().unwrap_or_default())
    };
    let start = best(&["cpus", "0-3"])?;
    let alone = best(&["inspect", "--root", &root])?;
    let interrupts = best(&["inspect", "--root", &root, "--irqs"])?.saturating_sub(alone);
    // Includes the boot line, neighbours and everything else of one complete check. The status, which depends on the
    // findings, is ignored.
    let question = {
        let words = ["-c", "\"$0\" check --root \"$1\" --for 0s --cpus 60-63; true"];
        let measurements = (0..5).map(|_| measured(Command::new("sh").args(words).arg(binary).arg(&root)));
        let costs = measurements
            .map(|cost| cost.map(|cost| cost.cpu()))
            .collect::<TaskResult<Vec<Duration>>>()?;
        costs.into_iter().min().unwrap_or_default().saturating_sub(start)
    };
    let table = kernels_part()?;
    let sweep = one_affinity() * LARGE.tasks;
    println!(
        "watch --daemon where nothing happens, worked out for {} CPUs, {} interrupts, {} threads (bound {:.2} % of a CPU):",
        LARGE.cpus,
        LARGE.irqs,
        LARGE.tasks,
        BOUND * 100.0
    );
    let parts = [
        ("one whole question", question + table, Interval::FILES),
        ("one look at the counters", interrupts + table, Interval::COUNTERS),
        ("one look at the masks of threads", sweep, Interval::SWEEPS),
    ];
    let mut all = 0.0;
    for (name, cost, pace) in parts {
        let share = pace.share(cost);
        all += share;
        println!(
            "  {name:<34} {:>8.2} ms, every {:>6.1} s: {:.4} %",
            ms(cost),
            cost.as_secs_f64() / share,
            share * 100.0
        );
    }
    println!(
        "  together {:.4} %; of it {:.2} ms are what the kernel takes to write a table of interrupts of that size, from one here",
        all * 100.0,
        ms(table)
    );
    Ok(all <= BOUND)
}

/// Time that the kernel needs to format `/proc/interrupts` of the large machine, extrapolated from the time per cell on
/// this machine.
fn kernels_part() -> TaskResult<Duration> {
    let path = Path::new("/proc/interrupts");
    let text = read_to_string(path).map_err(XtaskError::file(path))?;
    let columns = text.lines().next().map_or(1, |line| line.split_whitespace().count());
    let cells = text.lines().count().saturating_mul(columns).max(1);
    let spent_before = spent();
    for _ in 0..100 {
        read_to_string(path).map_err(XtaskError::file(path))?;
    }
    let cell_ns = spent().saturating_sub(spent_before).as_nanos() as f64 / 100.0 / cells as f64;
    Ok(Duration::from_nanos(
        (cell_ns * f64::from(LARGE.cpus * LARGE.irqs)) as u64,
    ))
}

/// Time to read the mask of one thread.
fn one_affinity() -> Duration {
    const TIMES: u32 = 20_000;
    let mut words = [0_u64; 16];
    let spent_before = spent();
    for _ in 0..TIMES {
        // SAFETY: the kernel writes at most the given number of bytes.
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&words), words.as_mut_ptr()) };
    }
    spent().saturating_sub(spent_before) / TIMES
}

/// CPU time of this thread. Wall time is meaningless on a busy machine.
fn spent() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one such structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Threads that sleep until this value is dropped.
struct SleepingThreads(Arc<(Mutex<bool>, Condvar)>);

impl SleepingThreads {
    fn start(count: u32) -> SleepingThreads {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        for _ in 0..count {
            let gate = Arc::clone(&gate);
            let sleep = move || {
                let Ok(mut over) = gate.0.lock() else { return };
                while !*over {
                    let Ok(next) = gate.1.wait(over) else { return };
                    over = next;
                }
            };
            // A thread that cannot be created is missing in the printed count.
            let _ = std::thread::Builder::new().stack_size(64 << 10).spawn(sleep);
        }
        SleepingThreads(gate)
    }
}

impl Drop for SleepingThreads {
    fn drop(&mut self) {
        if let Ok(mut over) = self.0.0.lock() {
            *over = true;
        }
        self.0.1.notify_all();
    }
}

/// A daemon in its own directory. It ends when this value is dropped.
struct BenchDaemon {
    child: Child,
    dir: PathBuf,
}

impl Drop for BenchDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = remove_dir_all(&self.dir);
    }
}

/// Resource usage of a process, as counted by the kernel.
struct ProcessUsage {
    cpu: Duration,
    ticks: u64,
    wakeups: u64,
    kib: u64,
}

/// Measures the daemon on this machine. Returns whether the cost is within the limit and the daemon stayed off the
/// watched CPU.
fn here(binary: &Path, watched: &str, time: Duration) -> TaskResult<bool> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let _sleepers = SleepingThreads::start(LARGE.tasks);
    let daemon = start(binary, &format!("--cpus {watched}"), "")?;
    let pid = daemon.child.id();
    // Skips the work that follows the start.
    std::thread::sleep(Duration::from_secs(3));
    let before = used(pid)?;
    let (start_time, mut seen, mut allowed) = (Instant::now(), BTreeMap::new(), String::new());
    while start_time.elapsed() < time {
        for cpu in cpus_of(pid) {
            *seen.entry(cpu).or_insert(0_u64) += 1;
        }
        allowed = line_of(&format!("/proc/{pid}/status"), "Cpus_allowed_list:")?;
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = used(pid)?;
    let took = start_time.elapsed().as_secs_f64();
    let cpu = after.cpu.saturating_sub(before.cpu);
    let share = cpu.as_secs_f64() / took;
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    println!(
        "watch --daemon --cpus {watched} for {took:.0} s on this machine ({cpus} CPUs, {threads} threads of ours sleep beside it):"
    );
    println!(
        "  {:.1} ms of a CPU (schedstat; {} ticks of utime+stime): {:.4} %; {:.1} wake-ups a second; RSS {} KiB, then {} KiB",
        ms(cpu),
        after.ticks - before.ticks,
        share * 100.0,
        (after.wakeups - before.wakeups) as f64 / took,
        before.kib,
        after.kib
    );
    let was_there = seen.get(watched).copied().unwrap_or(0);
    println!(
        "  it may run on CPU {allowed}; looks in which its threads were last on each CPU: {seen:?}; on CPU {watched}: {was_there}"
    );
    Ok(share <= BOUND && was_there == 0)
}

/// Directory of the log: in memory if possible, so that the log causes no disk interrupt.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => memory.to_owned(),
        false => target_dir(),
    }
}

/// Starts a daemon with these arguments and this `/etc/quietcore.toml`.
fn start(binary: &Path, words: &str, configuration: &str) -> TaskResult<BenchDaemon> {
    let dir = place().join(format!("quietcore-bench-daemon-{}", std::process::id()));
    for name in ["etc", "run"] {
        create_dir_all(dir.join(name)).map_err(XtaskError::file(&dir))?;
    }
    let (log, file) = (dir.join("messages"), dir.join("etc/quietcore.toml"));
    std::fs::write(&file, configuration).map_err(XtaskError::file(&file))?;
    let script = format!(
        "mount --bind {0}/run /run && mount --bind {0}/etc /etc && exec {1} watch --daemon {words} --log {0}/log",
        dir.display(),
        binary.display()
    );
    let mut command = Command::new("unshare");
    let output = std::fs::File::create(&log).map_err(XtaskError::file(&log))?;
    command
        .args(["-m", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let child = command.spawn().map_err(XtaskError::file(Path::new("unshare")))?;
    let daemon = BenchDaemon { child, dir };
    let start_time = Instant::now();
    loop {
        let text = read_to_string(&log).unwrap_or_default();
        if text.contains("watching;") {
            return Ok(daemon);
        }
        if start_time.elapsed() > Duration::from_secs(60) {
            return Err(XtaskError::Program {
                program: "watch --daemon".into(),
                why: format!("it did not begin: {text}"),
            });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn used(pid: u32) -> TaskResult<ProcessUsage> {
    let read = |name: &str| {
        let path = PathBuf::from(format!("/proc/{pid}/{name}"));
        read_to_string(&path).map_err(XtaskError::file(&path))
    };
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let schedstat = read("schedstat")?;
    let stat = read("stat")?;
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest)
        .split_whitespace()
        .collect();
    // Fields 14 and 15 (proc_pid_stat(5)). The first field after the name is 3.
    let ticks = [11, 12].map(|place| number(fields.get(place).copied()));
    let status = format!("/proc/{pid}/status");
    let first = |name: &str| -> TaskResult<u64> { Ok(number(line_of(&status, name)?.split_whitespace().next())) };
    Ok(ProcessUsage {
        cpu: Duration::from_nanos(number(schedstat.split_whitespace().next())),
        ticks: ticks.iter().sum(),
        wakeups: first("voluntary_ctxt_switches:")?,
        kib: first("VmRSS:")?,
    })
}

/// The text that follows a word at the start of a line.
fn line_of(path: &str, word: &str) -> TaskResult<String> {
    let text = read_to_string(path).map_err(XtaskError::file(Path::new(path)))?;
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    Ok(line.unwrap_or_default().trim().to_owned())
}

/// The CPU on which each thread of a process last ran.
fn cpus_of(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let stat = |task: std::fs::DirEntry| read_to_string(task.path().join("stat")).ok();
    let cpu = |stat: String| {
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(39 - 3)
            .map(str::to_owned)
    };
    tasks.filter_map(stat).filter_map(cpu).collect()
}
