//! `make bench`: measures speed, memory and size. The results are printed and never checked, because machines differ.

use crate::generate::Size;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use xtask::error::{TaskResult, XtaskError, output, product, target_dir};

/// The documented size that must be read in less than a second and 200 MB.
const FULL: Size = Size {
    cpus: 1024,
    irqs: 10_000,
    tasks: 100_000,
};
/// A quarter of it. Comparing the times shows whether reading grows linearly.
const QUARTER: Size = Size {
    cpus: 256,
    irqs: 2_500,
    tasks: 25_000,
};

/// Runs all measurements and prints the results.
///
/// # Errors
/// [`XtaskError`] when something cannot be built, written or run.
pub fn run() -> TaskResult {
    let binary = product()?;
    size_and_start(&binary)?;
    println!("inspect --root of a generated machine (a directory, in the page cache):");
    println!(
        "{:<22} {:>10} {:>10} {:>10} {:>8} {:>9}",
        "", "wall ms", "user ms", "system ms", "MiB", "1/4 -> 1"
    );
    let dirs = [target_dir().join("bench-quarter"), target_dir().join("bench-full")];
    for (dir, size) in dirs.iter().zip([QUARTER, FULL]) {
        generate(dir, size)?;
    }
    let [quarter, full] = &dirs;
    for flags in [
        &["--json"] as &[&str],
        &["--tasks", "--json"],
        &["--irqs", "--json"],
        &["--tasks", "--irqs", "--json"],
    ] {
        let small = inspect(&binary, quarter, flags)?;
        let large = inspect(&binary, full, flags)?;
        let ratio = |one: Duration, four: Duration| four.as_secs_f64() / one.as_secs_f64().max(1e-6);
        for (name, cost) in [("256/2.5k/25k", &small), ("1024/10k/100k", &large)] {
            println!(
                "{:<22} {:>10.1} {:>10.1} {:>10.1} {:>8.1} {:>9}",
                format!("{name} {}", flags.join(" ").replace("--", "").replace(" json", "")),
                ms(cost.wall),
                ms(cost.user),
                ms(cost.system),
                cost.peak_kib as f64 / 1024.0,
                if name.starts_with('1') {
                    format!("x {:.1}", ratio(small.wall, large.wall))
                } else {
                    String::new()
                },
            );
        }
    }
    println!(
        "(1,024 CPUs make each of 4 times as many interrupt rows 4 times as wide: 16 times the text of /proc/interrupts)"
    );
    crate::planning::run(&binary, full)?;
    crate::archives::run(&binary, full)?;
    crate::traces::run()?;
    // The directories have hundreds of thousands of small files, three gigabytes in blocks.
    for dir in &dirs {
        std::fs::remove_dir_all(dir).map_err(XtaskError::file(dir))?;
    }
    prove_overhead(&binary)
}

/// Generates the machine in a separate process: the peak memory that the kernel counts for a child includes its
/// parent's before `exec`.
fn generate(dir: &Path, size: Size) -> TaskResult {
    let own = std::env::current_exe().map_err(XtaskError::file(dir))?;
    let numbers = [size.cpus, size.irqs, size.tasks].map(|number| number.to_string());
    output(Command::new(own).arg("generate").arg(dir).args(numbers)).map(|_| ())
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub(crate) struct CommandCost {
    pub(crate) wall: Duration,
    user: Duration,
    system: Duration,
    pub(crate) peak_kib: i64,
}

impl CommandCost {
    /// CPU time in user and kernel mode.
    pub(crate) fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

pub(crate) fn inspect(binary: &Path, root: &Path, flags: &[&str]) -> TaskResult<CommandCost> {
    let mut best: Option<CommandCost> = None;
    for _ in 0..3 {
        let mut command = Command::new(binary);
        command.arg("inspect").arg("--root").arg(root).args(flags);
        let cost = measured(&mut command)?;
        if best.as_ref().is_none_or(|best| cost.wall < best.wall) {
            best = Some(cost);
        }
    }
    best.ok_or(XtaskError::Failed)
}

fn size_and_start(binary: &Path) -> TaskResult {
    let bytes = std::fs::metadata(binary).map_err(XtaskError::file(binary))?.len();
    println!("binary: {:.2} MB (limit 8)", bytes as f64 / 1e6);
    for (name, mut command) in [
        ("/bin/true", Command::new("/bin/true")),
        ("quietcore --version", with(binary, &["--version"])),
        ("quietcore cpus 0-3", with(binary, &["cpus", "0-3"])),
    ] {
        let mut times = Vec::new();
        for _ in 0..50 {
            times.push(measured(&mut command)?.wall);
        }
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("start: {name:<22} median {:.2} ms of {}", ms(median), times.len());
    }
    Ok(())
}

/// Measures the time of `prove` beyond its measuring time. Needs root: otherwise `prove` isolates nothing.
fn prove_overhead(binary: &Path) -> TaskResult {
    // SAFETY: a plain call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIP: prove overhead: needs root");
        return Ok(());
    }
    let dir = target_dir().join("bench-prove");
    std::fs::create_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    let mut command = with(binary, &["prove", "--for", "2s", "--json"]);
    let out = std::fs::File::create(dir.join("stdout")).map_err(XtaskError::file(&dir))?;
    let started = Instant::now();
    let status = command.current_dir(&dir).stdin(Stdio::null()).stdout(out).status();
    let took = started.elapsed();
    match status {
        Ok(status) => {
            let path = dir.join("stdout");
            let text = std::fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
            let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let steps = document["steps"].as_array().into_iter().flatten();
            let measures = |step: &&serde_json::Value| {
                step["name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with("latency") || name.starts_with("noise"))
            };
            let seconds: f64 = steps
                .filter(measures)
                .filter_map(|step| step["duration_ns"].as_f64())
                .map(|ns| ns / 1e9)
                .sum();
            let beyond = format!(
                "{seconds:.1} s of it measuring, {:.1} s beyond (limit 10)",
                took.as_secs_f64() - seconds
            );
            println!("prove --for 2s: {:.1} s, {status}; {beyond}", took.as_secs_f64());
            Ok(())
        }
        Err(error) => Err(XtaskError::Program {
            program: "quietcore prove".into(),
            why: error.to_string(),
        }),
    }
}

pub(crate) fn with(binary: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(words);
    command
}

/// Runs a command, discards its output, and measures it by `wait4`, whose numbers cover only this child.
pub(crate) fn measured(command: &mut Command) -> TaskResult<CommandCost> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| XtaskError::Program {
        program: name.clone(),
        why,
    };
    let started = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let mut status = 0;
    // SAFETY: rusage is plain data that the call fills. The child is ours, and no other code waits for it.
    let (waited, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = libc::pid_t::try_from(child.id()).unwrap_or(-1);
        (libc::wait4(pid, &raw mut status, 0, &raw mut usage), usage)
    };
    let wall = started.elapsed();
    if waited < 0 || status != 0 {
        return Err(failed(format!("wait status {status:#x}")));
    }
    let time = |value: libc::timeval| {
        let whole = Duration::from_secs(u64::try_from(value.tv_sec).unwrap_or(0));
        whole + Duration::from_micros(u64::try_from(value.tv_usec).unwrap_or(0))
    };
    Ok(CommandCost {
        wall,
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        peak_kib: usage.ru_maxrss,
    })
}
