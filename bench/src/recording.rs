//! Measures the cost of tracing for a CPU, with quietcore and its peers. They record the same events of the same CPU
//! while a sampler spins there and counts its gaps. Runs are in blocks of random order, and each block has a run
//! without a recorder.

use crate::truth::statistics::{interval, median};
use lab::random::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::error::{TaskResult, XtaskError, product, target_dir};

const BLOCKS: usize = 8;
/// The measured CPU. Everything else runs on CPU 0.
const CPU: usize = 1;
/// Time limit for the start of a recorder, recording time before the sampler starts, and duration of the sampler.
const PATIENCE: Duration = Duration::from_secs(30);
const AHEAD: Duration = Duration::from_secs(1);
const SECONDS: &str = "3s";
const EVENTS: &[&str] = &[
    "sched/sched_switch",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
];
/// Interrupts that a reader can cause on the CPU whose buffer it reads.
const INTERRUPTS: &[&str] = &["IWI", "RES", "CAL"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RecordingTool {
    NoRecorder,
    Quietcore,
    TraceCmd,
    Perf,
}

const ALL: &[RecordingTool] = &[
    RecordingTool::NoRecorder,
    RecordingTool::Quietcore,
    RecordingTool::TraceCmd,
    RecordingTool::Perf,
];

impl RecordingTool {
    const fn name(self) -> &'static str {
        match self {
            RecordingTool::NoRecorder => "no recorder",
            RecordingTool::Quietcore => "quietcore trace record",
            RecordingTool::TraceCmd => "trace-cmd record",
            RecordingTool::Perf => "perf record",
        }
    }

    /// Whether it is recording now. The cost of enabling events must not count as the cost of recording.
    fn records(self) -> bool {
        let says = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let tracefs = Path::new(lab::tracefs::TRACEFS);
        match self {
            RecordingTool::NoRecorder => true,
            RecordingTool::Quietcore => {
                let instances = std::fs::read_dir(tracefs.join("instances"));
                let mut own = instances.into_iter().flatten().flatten();
                own.any(|one| says(&one.path().join("tracing_on")).trim() == "1")
            }
            RecordingTool::TraceCmd => {
                says(&tracefs.join("set_event")).lines().count() >= EVENTS.len()
                    && says(&tracefs.join("tracing_on")).trim() == "1"
            }
            // perf enables its events before it prints anything, within a fraction of AHEAD.
            RecordingTool::Perf => true,
        }
    }

    /// Its command. It runs on CPU 0 and stops on SIGINT.
    fn command(self, ours: &Path, file: &Path) -> Option<Command> {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]);
        match self {
            RecordingTool::NoRecorder => return None,
            RecordingTool::Quietcore => {
                command.arg(ours).args(["trace", "record", "--cpus", &CPU.to_string()]);
                command.args(EVENTS.iter().flat_map(|event| ["-e".to_owned(), (*event).to_owned()]));
            }
            RecordingTool::TraceCmd => {
                command.args(["trace-cmd", "record", "-q", "-M", &format!("{:x}", 1 << CPU)]);
                command.args(
                    EVENTS
                        .iter()
                        .flat_map(|event| ["-e".to_owned(), event.replace('/', ":")]),
                );
            }
            RecordingTool::Perf => {
                command.args(["perf", "record", "-q", "-C", &CPU.to_string()]);
                command.args(
                    EVENTS
                        .iter()
                        .flat_map(|event| ["-e".to_owned(), event.replace('/', ":")]),
                );
            }
        }
        command.arg("-o").arg(file);
        Some(command)
    }
}

/// The cost of a run for the measured CPU, per second.
#[derive(Clone, Debug, Default)]
struct RecordingCost {
    gaps: f64,
    stolen_us: f64,
    interrupts: f64,
}

/// Prints the table. A claim is lost when quietcore costs more than a peer in the same blocks.
pub(crate) fn run() -> TaskResult {
    let ours: PathBuf = product()?;
    lab::tracefs::reach().map_err(failed)?;
    let dir = target_dir().join("bench-recording");
    std::fs::create_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    let mut present = Vec::new();
    for recorder in ALL.iter().copied() {
        // Tries each recorder once: some cannot record on some kernels, and print the reason.
        match is_there(recorder).then(|| one(recorder, &ours, &dir)) {
            Some(Ok(_)) => present.push(recorder),
            Some(Err(why)) if recorder != RecordingTool::Quietcore => {
                println!("ABSENT: {}: {why}", recorder.name())
            }
            Some(Err(why)) => return Err(why),
            None => println!("ABSENT: {}: it is not installed", recorder.name()),
        }
    }
    let mut random = Random::new(1);
    let mut costs: BTreeMap<RecordingTool, Vec<RecordingCost>> = BTreeMap::new();
    for _ in 0..BLOCKS {
        let mut order = present.clone();
        random.shuffle(&mut order);
        for recorder in order {
            costs.entry(recorder).or_default().push(one(recorder, &ours, &dir)?);
        }
    }
    std::fs::remove_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    table(&costs)
}

fn table(costs: &BTreeMap<RecordingTool, Vec<RecordingCost>>) -> TaskResult {
    println!(
        "CPU {CPU}, {} events recorded, {BLOCKS} blocks of {SECONDS}; medians per second of the measured CPU",
        EVENTS.len()
    );
    println!(
        "  {:<24} {:>10} {:>12} {:>12}  more stolen us than with ours [95 %]",
        "", "gaps", "stolen us", "IWI+RES+CAL"
    );
    let of = |recorder: RecordingTool, what: fn(&RecordingCost) -> f64| -> Vec<f64> {
        costs.get(&recorder).into_iter().flatten().map(what).collect()
    };
    let own = of(RecordingTool::Quietcore, |cost| cost.stolen_us);
    let mut lost = false;
    for recorder in costs.keys().copied() {
        let middle = |what| median(&of(recorder, what)).unwrap_or(f64::NAN);
        let stolen = of(recorder, |cost| cost.stolen_us);
        let more: Vec<f64> = stolen.iter().zip(&own).map(|(theirs, ours)| theirs - ours).collect();
        let interval = interval(&more);
        let message = match interval {
            Some(interval) if recorder != RecordingTool::Quietcore => {
                format!("{:+.0} [{:+.0}, {:+.0}]", interval.mean, interval.low, interval.high)
            }
            _ => String::new(),
        };
        println!(
            "  {:<24} {:>10.1} {:>12.1} {:>12.1}  {message}",
            recorder.name(),
            middle(|cost| cost.gaps),
            middle(|cost| cost.stolen_us),
            middle(|cost| cost.interrupts),
        );
        let is_peer = !matches!(recorder, RecordingTool::NoRecorder | RecordingTool::Quietcore);
        lost |= is_peer && interval.is_some_and(|interval| interval.high < 0.0);
    }
    if lost {
        println!("LOST: a peer takes less of the CPU than ours");
        return Err(XtaskError::Failed);
    }
    println!("held: ours takes no more of the CPU than any peer that is here (95 %)");
    Ok(())
}

fn is_there(recorder: RecordingTool) -> bool {
    let program = match recorder {
        RecordingTool::NoRecorder | RecordingTool::Quietcore => return true,
        RecordingTool::TraceCmd => "trace-cmd",
        RecordingTool::Perf => "perf",
    };
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

fn one(recorder: RecordingTool, ours: &Path, dir: &Path) -> TaskResult<RecordingCost> {
    let file = dir.join("recorded");
    let recording = recorder.command(ours, &file).map(|mut command| {
        let command = command.current_dir(dir).stdin(Stdio::null());
        let messages = std::fs::File::create(dir.join("messages"))?;
        command.stdout(Stdio::null()).stderr(messages).spawn()
    });
    let mut recording = recording.transpose().map_err(XtaskError::file(&file))?;
    let start = Instant::now();
    while !recorder.records() {
        let over = recording.as_mut().and_then(|child| child.try_wait().ok()?);
        if over.is_some() || start.elapsed() > PATIENCE {
            return Err(failed(format!("it does not begin here: {}", error_text(dir))));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(AHEAD);
    let before = interrupts();
    let mut noise = Command::new(ours);
    noise.args([
        "--json",
        "measure",
        "noise",
        "--cpus",
        &CPU.to_string(),
        "--for",
        SECONDS,
    ]);
    let output = noise
        .args(["--policy", "fifo:80"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(XtaskError::file(ours))?;
    let after = interrupts();
    if let Some(recording) = recording {
        end_recording(recording, recorder, &file)?;
    }
    let result: Value = serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let thread = &result["threads"][0];
    let number = |name: &str| thread[name].as_f64().unwrap_or(f64::NAN);
    let seconds = number("duration_ns") / 1e9;
    Ok(RecordingCost {
        gaps: number("gaps_total") / seconds,
        stolen_us: number("stolen_ns") / 1e3 / seconds,
        interrupts: (after - before) / seconds,
    })
}

/// The messages of a recorder.
fn error_text(dir: &Path) -> String {
    let messages = std::fs::read_to_string(dir.join("messages")).unwrap_or_default();
    let words: Vec<&str> = messages.split_whitespace().collect();
    words.join(" ")
}

/// Stops a recorder by SIGINT, as a user does, and checks that it recorded something.
fn end_recording(mut recording: Child, recorder: RecordingTool, file: &Path) -> TaskResult {
    let pid = libc::pid_t::try_from(recording.id()).unwrap_or(0);
    // SAFETY: a plain call; the child has not been waited for.
    unsafe { libc::kill(pid, libc::SIGINT) };
    recording.wait().map_err(XtaskError::file(file))?;
    let len = std::fs::metadata(file).map_or(0, |file| file.len());
    match len {
        0 => Err(failed(format!("{} has recorded nothing", recorder.name()))),
        _ => std::fs::remove_file(file).map_err(XtaskError::file(file)),
    }
}

/// Number of these interrupts of the measured CPU.
fn interrupts() -> f64 {
    let text = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let of = |line: &str| -> Option<f64> {
        let (name, counts) = line.trim_start().split_once(':')?;
        let count = counts.split_whitespace().nth(CPU)?;
        INTERRUPTS.contains(&name).then(|| count.parse().ok())?
    };
    text.lines().filter_map(of).sum()
}

fn failed(why: String) -> XtaskError {
    XtaskError::Program {
        program: "bench-recording".into(),
        why,
    }
}
