//! Runs one tool once: starts it, watches it, disturbs it or not, waits for it, reads its result.

use super::kernel;
use super::seen::ToolReading;
use super::tools::{BenchRun, BenchTool, ToolProgram};
use super::watched::{self, UsageDelta};
use crate::inject::event::InjectedDisturbance;
use crate::inject::{PREEMPT_NS, place, preempt_group};
use std::fs::File;
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of disturbances of each length, per second of a run.
const PREEMPTS_PER_SECOND: u64 = 20;
/// Number of interrupts per second of a run.
const IPIS_PER_SECOND: u64 = 150;
/// A tool measures this much longer than it is disturbed, so that it still measures at the end.
const LONGER_SECONDS: u64 = 1;
/// A tool that runs this much longer than requested hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The disturbance of a tool while it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolDisturbance {
    /// None: the control run.
    Nothing,
    /// Preemptions with the lengths of this group.
    Preempt(usize),
    /// Preemptions with all lengths in one run, which only timestamps can distinguish.
    PreemptAll,
    /// Stops of the tool.
    Stop,
    /// Interrupts of its CPU.
    Ipi,
}

/// One run of one tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolResult {
    /// Its reading.
    pub(crate) seen: ToolReading,
    /// The injected disturbances.
    pub(crate) events: Vec<InjectedDisturbance>,
    /// What the kernel counted during the disturbances, or during the same time of the control run.
    pub(crate) between: UsageDelta,
    /// User and system time of the whole process, including its start and its end, by `wait4`.
    pub(crate) process_ns: u64,
    /// The cost of two switches in this block, measured with a bare loop.
    pub(crate) switch_ns: u64,
    /// Times of kernel events on the measured CPU. Recorded only in runs with all lengths.
    pub(crate) kernel: Option<Vec<u64>>,
    /// The share of the measured CPU's time that the hypervisor took.
    pub(crate) steal: Option<f64>,
}

/// The CPUs, directories and duration of all runs of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct RunLocation {
    /// Our binary.
    pub(crate) own_binary: PathBuf,
    /// A folder for the files of the tools.
    pub(crate) folder: PathBuf,
    /// The measured CPU.
    pub(crate) cpu: usize,
    /// The CPU for everything else.
    pub(crate) other: usize,
    /// Duration of the disturbances.
    pub(crate) seconds: u64,
}

/// Runs a tool once.
///
/// # Errors
/// The reason as text: it could not be started, did not end, or its result is not readable.
pub(crate) fn run(
    place: &RunLocation,
    tool: &BenchTool,
    what: ToolDisturbance,
    switch_ns: u64,
    seed: u64,
) -> Result<ToolResult, String> {
    let (run, mut started) = start(place, tool, place.seconds + LONGER_SECONDS)?;
    let start_time = Instant::now();
    std::thread::sleep(tool.start_delay);
    let stat = || std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let family = watched::family(started.id());
    let (stat_before, before) = (stat(), watched::instant(&family, place.cpu));
    let trace = match what {
        ToolDisturbance::PreemptAll => Some(kernel::KernelTrace::start(place.cpu)?),
        _ => None,
    };
    let events = disturb(place, &family, what, seed)?;
    let kernel = trace.map(|trace| trace.end(place.cpu)).transpose()?;
    let (stat_after, after) = (stat(), watched::instant(&family, place.cpu));
    let limit = start_time + tool.start_delay + Duration::from_secs(run.seconds) + PATIENCE;
    let process_ns = started.wait(limit).map_err(|why| with_messages(&run, &why))?;
    let printed = std::fs::read_to_string(run.folder.join("printed")).unwrap_or_default();
    let seen = (tool.read)(&run, &printed).map_err(|why| with_messages(&run, &why))?;
    Ok(ToolResult {
        seen,
        events,
        between: watched::between(&before, &after),
        process_ns,
        switch_ns,
        kernel,
        steal: watched::steal_share(&stat_before, &stat_after, place.cpu),
    })
}

/// Injects preemptions of every length into a bare loop. The result is the best that any tool can do, and the cost of
/// two switches.
///
/// # Errors
/// The reason as text.
pub(crate) fn bare_loop(place: &RunLocation, seed: u64) -> Result<Vec<InjectedDisturbance>, String> {
    let milliseconds = place.seconds * 1_000;
    let events = PREEMPTS_PER_SECOND * place.seconds;
    let words = format!(
        "switch {} {milliseconds} {events} {seed} {}",
        place.cpu,
        listed(PREEMPT_NS)
    );
    inject(place, &words)
}

fn listed(numbers: &[impl ToString]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    words.join(",")
}

/// Starts a tool in an empty folder. It is killed when the process that started it ends.
///
/// # Errors
/// The reason as text.
pub(crate) fn start(place: &RunLocation, tool: &BenchTool, seconds: u64) -> Result<(BenchRun, ChildGuard), String> {
    let run = BenchRun {
        cpu: place.cpu,
        other: place.other,
        seconds,
        folder: place.folder.join(tool.name.replace(' ', "-")),
    };
    let file = |name: &str| File::create(run.folder.join(name)).map_err(|error| error.to_string());
    if run.folder.exists() {
        std::fs::remove_dir_all(&run.folder).map_err(|error| error.to_string())?;
    }
    std::fs::create_dir_all(&run.folder).map_err(|error| error.to_string())?;
    let program: &Path = match tool.program {
        ToolProgram::Quietcore => &place.own_binary,
        ToolProgram::Peer(name, _) => Path::new(name),
    };
    let mut command = Command::new(program);
    command
        .args((tool.words)(&run))
        .current_dir(&run.folder)
        .stdin(Stdio::null())
        .stdout(file("printed")?)
        .stderr(file("messages")?);
    let child = tied(&mut command, vec![place.cpu, place.other])
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok((
        run,
        ChildGuard {
            child,
            has_ended: false,
        },
    ))
}

/// A child process that is killed on drop, so that it does not stay behind, stopped or spinning.
pub(crate) struct ChildGuard {
    child: Child,
    has_ended: bool,
}

impl ChildGuard {
    /// Its PID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends, and returns its user and system time.
    fn wait(&mut self, limit: Instant) -> Result<u64, String> {
        let pid = libc::pid_t::try_from(self.id()).unwrap_or(-1);
        loop {
            let mut status = 0;
            // SAFETY: both are plain data that the call fills. No other code waits for this child.
            let (waited, usage) = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                (libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage), usage)
            };
            if waited == pid {
                self.has_ended = true;
                // Our own tool returns 1 for a finding. Reading its output shows whether there is a result.
                let ended = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) <= 1;
                let time = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
                return if ended {
                    Ok(time(usage.ru_utime) + time(usage.ru_stime))
                } else {
                    Err(format!("it ended with wait status {status:#x}"))
                };
            }
            if waited < 0 {
                return Err(Error::last_os_error().to_string());
            }
            if Instant::now() > limit {
                return Err(format!("it hangs: {} s beyond its time", PATIENCE.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // After it was reaped, its PID may belong to another process.
        if !self.has_ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Runs the injector, or waits for the same time.
fn disturb(
    place: &RunLocation,
    family: &[u32],
    what: ToolDisturbance,
    seed: u64,
) -> Result<Vec<InjectedDisturbance>, String> {
    let milliseconds = place.seconds * 1_000;
    let (cpu, seconds) = (place.cpu, place.seconds);
    let preempt = |lengths_ns: &[u64]| {
        let events = PREEMPTS_PER_SECOND * seconds;
        format!("preempt {cpu} {milliseconds} {events} {seed} {}", listed(lengths_ns))
    };
    let words = match what {
        ToolDisturbance::Nothing => {
            std::thread::sleep(Duration::from_millis(milliseconds));
            return Ok(Vec::new());
        }
        ToolDisturbance::Preempt(group) => preempt(&preempt_group(group)),
        ToolDisturbance::PreemptAll => preempt(PREEMPT_NS),
        ToolDisturbance::Stop => {
            format!("stop {} {milliseconds} {seed}", listed(family))
        }
        ToolDisturbance::Ipi => format!("ipi {cpu} {milliseconds} {} {seed}", IPIS_PER_SECOND * seconds),
    };
    inject(place, &words)
}

/// Runs the injector once, on the other CPU. Its thread that preempts moves to the measured CPU itself.
///
/// # Errors
/// The reason as text.
pub(crate) fn inject(place: &RunLocation, words: &str) -> Result<Vec<InjectedDisturbance>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg("inject").args(words.split(' ')).stdin(Stdio::null());
    let output = tied(&mut command, vec![place.other])
        .output()
        .map_err(|error| format!("inject: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::parse).collect()
}

/// Restricts a child to these CPUs, and kills it when this process ends.
fn tied(command: &mut Command, cpus: Vec<usize>) -> &mut Command {
    // SAFETY: between fork and exec only two system calls are made. Memory is allocated only if the second fails, and
    // the process has a single thread there.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(Error::last_os_error());
            }
            place::pin(&cpus).map_err(|error| Error::other(error.to_string()))
        })
    }
}

fn with_messages(run: &BenchRun, why: &str) -> String {
    let messages = std::fs::read_to_string(run.folder.join("messages")).unwrap_or_default();
    match messages.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{why}; it says: {line}"),
        None => why.to_owned(),
    }
}
