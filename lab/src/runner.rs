//! Runs jobs, as many guests at a time as the host has CPUs and memory for, and reports each result.

use crate::bench::{Bench, DocumentCheck};
use crate::disk;
use crate::initramfs::{GuestSystem, build};
use crate::kernels::BootableKernel;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::verdict::ScenarioVerdict;
use crate::vm::{VmBoot, VmEnd, VmMachine, VmOutcome, boot};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// Host memory per concurrent guest, MiB: the usual guest size plus QEMU itself.
const MIB_PER_GUEST: usize = 768;

/// Maximum number of failures that are retried, each alone. A retry shows whether the failure also occurs without
/// another guest; the job still counts as failed. More failures than this have a common cause.
const MOST_AGAIN: usize = 3;

/// Scenarios that look for rare events. A single failure is such an event, so it is never retried.
const SELDOM: [&str; 6] = [
    "sigkill_anywhere",
    "sigkill_more",
    "faults",
    "fork_storm",
    "signals",
    "hotplug",
];

/// A scenario in one of its cells.
#[derive(Clone)]
pub struct ScenarioJob {
    /// The scenario.
    pub scenario: &'static Scenario,
    /// Its cell.
    pub cell: ScenarioCell,
}

impl ScenarioJob {
    /// The name of the job: `SCENARIO KERNEL/LAYOUT`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.scenario.name, self.cell.label())
    }
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTotals {
    /// Jobs in which every claim held.
    pub passed: usize,
    /// Jobs in which a claim did not hold or the guest did not reach its end.
    pub failed: usize,
    /// Number of the failed jobs that passed when they ran alone.
    pub unstable: usize,
    /// Jobs that could not run. The reason is on their line.
    pub skipped: usize,
    /// How long each job took.
    pub times: Vec<(String, Duration)>,
}

/// One finished job, for the report line.
pub struct JobResult {
    /// The job.
    pub label: String,
    /// The verdict.
    pub verdict: ScenarioVerdict,
    /// Wall time, retries included.
    pub duration: Duration,
}

/// Runs all jobs and calls `say` for each finished one.
pub fn run(bench: &Bench, jobs: &[ScenarioJob], say: &(dyn Fn(&JobResult) + Sync)) -> RunTotals {
    let queue = Mutex::new(jobs.iter());
    let totals = Mutex::new(RunTotals::default());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once() {
            scope.spawn(|| {
                loop {
                    let next = locked(&queue).next();
                    let Some(job) = next else { break };
                    let finished = one(bench, job);
                    let mut totals = locked(&totals);
                    totals.times.push((finished.label.clone(), finished.duration));
                    match (&finished.verdict.skipped, finished.verdict.failures.is_empty()) {
                        (Some(_), _) => totals.skipped += 1,
                        (None, true) => totals.passed += 1,
                        (None, false) => {
                            totals.failed += 1;
                            locked(&failed).push(job);
                        }
                    }
                    say(&finished);
                }
            });
        }
    });
    let mut totals = locked(&totals).clone();
    for job in again(&locked(&failed)) {
        let finished = alone(bench, job);
        if finished.verdict.failures.is_empty() && finished.verdict.skipped.is_none() {
            totals.unstable += 1;
        }
        say(&finished);
    }
    totals
}

/// Number of guests that run at the same time. An emulated guest keeps one CPU of the host busy for two thirds of its time;
/// for the rest it sleeps.
fn at_once() -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let guests = (cpus * 3).div_ceil(2);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<usize> = available.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kib.map_or(guests, |kib| guests.min(kib / 1024 / MIB_PER_GUEST)).max(1)
}

/// The failed jobs that are retried.
fn again<'a>(failed: &[&'a ScenarioJob]) -> Vec<&'a ScenarioJob> {
    let is_tried = |job: &&&ScenarioJob| !SELDOM.contains(&job.scenario.name);
    let all: Vec<&ScenarioJob> = failed.iter().filter(is_tried).copied().collect();
    if failed.len() > MOST_AGAIN { Vec::new() } else { all }
}

/// Retries a job that failed beside another guest. The records of the first run are kept.
fn alone(bench: &Bench, job: &ScenarioJob) -> JobResult {
    let dir = place(bench, job);
    let first = bench.out.join(format!("{}-first", name(job)));
    std::fs::remove_dir_all(&first).ok();
    let moved = std::fs::rename(&dir, &first).map_or_else(
        |error| format!("what it recorded first is lost: {error}"),
        |()| format!("what it recorded first is in {}", first.display()),
    );
    let mut finished = one(bench, job);
    finished.label.push_str(", alone");
    let result = match finished.verdict.failures.is_empty() {
        true => "UNSTABLE, passes now: it failed while another guest ran",
        false => "it fails without another guest too",
    };
    finished.verdict.note(format!("{result}; {moved}"));
    finished
}

/// The directory for a job's console and records.
fn place(bench: &Bench, job: &ScenarioJob) -> PathBuf {
    bench.out.join(name(job))
}

fn name(job: &ScenarioJob) -> String {
    job.label().replace([' ', '/'], "-")
}

/// Runs a given script in a cell, and returns all its records as text.
///
/// # Errors
/// [`crate::LabError`] when the guest cannot be created.
pub fn try_script(
    bench: &Bench,
    ready: &BootableKernel,
    cell: &ScenarioCell,
    script: &str,
) -> Result<String, crate::LabError> {
    let dir = bench.out.join("try");
    let outcome = guest(bench, ready, cell, script, &dir)?;
    Ok(format!(
        "{}{:?}, console in {}\n",
        readable(&outcome.records),
        outcome.end,
        outcome.console.display()
    ))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn one(bench: &Bench, job: &ScenarioJob) -> JobResult {
    let label = job.label();
    let mut verdict = ScenarioVerdict::default();
    let ready = match bench.kernels.get(job.cell.kernel.id) {
        Some(Ok(ready)) => ready,
        Some(Err(why)) => {
            verdict.skipped = Some(why.clone());
            return JobResult {
                label,
                verdict,
                duration: Duration::ZERO,
            };
        }
        None => {
            verdict.skipped = Some("its kernel was not prepared".to_owned());
            return JobResult {
                label,
                verdict,
                duration: Duration::ZERO,
            };
        }
    };
    let rest = bench.system(&job.cell).and_then(|_| bench.beside(&job.cell));
    if let Err(why) = rest {
        verdict.skipped = Some(why.to_owned());
        return JobResult {
            label,
            verdict,
            duration: Duration::ZERO,
        };
    }
    let dir = place(bench, job);
    let mut took = Duration::ZERO;
    for attempt in 1..=2 {
        verdict = ScenarioVerdict::default();
        let script = (job.scenario.script)(&job.cell);
        let outcome = match guest(bench, ready, &job.cell, &script, &dir) {
            Ok(outcome) => outcome,
            Err(error) => {
                verdict.that(false, error.to_string());
                break;
            }
        };
        took += outcome.duration;
        if outcome.end == VmEnd::Emulator && attempt == 1 {
            copy(&outcome.console, &dir.join("console.emulator-fault"));
            continue;
        }
        if attempt == 2 {
            verdict.note("second try after a fault of the emulator (Oops: int3)");
        }
        std::fs::write(dir.join("records.txt"), readable(&outcome.records)).ok();
        judge(job, &outcome, &bench.documents, &mut verdict);
        break;
    }
    save_claims(bench, job, &verdict);
    if verdict.failures.is_empty() {
        std::fs::remove_dir_all(&dir).ok();
    } else {
        std::fs::write(dir.join("failures"), verdict.failures.join("\n")).ok();
    }
    JobResult {
        label,
        verdict,
        duration: took,
    }
}

fn guest(
    bench: &Bench,
    ready: &BootableKernel,
    cell: &ScenarioCell,
    script: &str,
    dir: &Path,
) -> Result<VmOutcome, crate::LabError> {
    std::fs::create_dir_all(dir).map_err(crate::LabError::file(dir))?;
    let system = bench.system(cell).unwrap_or(GuestSystem::Busybox);
    let beside = bench.beside(cell).ok().flatten();
    let initramfs = build(&bench.programs, ready, beside, system, cell, script)?;
    let image = ready.unpacked.boots();
    let machine = VmMachine {
        cell,
        accelerator: cell.accelerator(bench.accelerator),
    };
    let start = VmBoot::Kernel {
        image: &image,
        initramfs: &initramfs,
        line: None,
    };
    match cell.shape.disk {
        None => boot(&start, &[], &machine, dir),
        Some(disk) => disk::boot_from(disk, &image, &initramfs, &machine, dir),
    }
}

fn judge(job: &ScenarioJob, outcome: &VmOutcome, documents: &DocumentCheck, verdict: &mut ScenarioVerdict) {
    let ended = match outcome.end {
        VmEnd::Done => None,
        VmEnd::Stopped => Some("the guest stopped before its end".to_owned()),
        VmEnd::TimeOut => Some(format!(
            "the guest was killed after {} s",
            job.cell.patience().as_secs()
        )),
        VmEnd::NotInstalled => Some(format!(
            "the first guest did not bring its disk into being: {}",
            outcome
                .records
                .get("installed")
                .stderr
                .lines()
                .last()
                .unwrap_or_default()
        )),
        VmEnd::Emulator => Some("the emulator failed twice (Oops: int3)".to_owned()),
    };
    if let Some(why) = ended {
        let records = outcome.records.names().count();
        let errors = std::fs::read_to_string(outcome.console.with_file_name("qemu")).unwrap_or_default();
        let first_line = errors.lines().next().unwrap_or("QEMU printed nothing");
        return verdict.that(false, format!("{why}, with {records} records; {first_line}"));
    }
    verdict.equal("damaged records", outcome.records.damaged, 0);
    let before = verdict.claims.len();
    (job.scenario.check)(&job.cell, &outcome.records, verdict);
    if verdict.claims.len() == before && verdict.skipped.is_none() {
        verdict.that(false, "the scenario claimed nothing");
    }
    check_documents(&outcome.records, documents, verdict);
}

/// Claims that each JSON document on standard output matches its schema.
fn check_documents(records: &GuestRecords, documents: &DocumentCheck, verdict: &mut ScenarioVerdict) {
    for name in records.names() {
        if let Some(errors) = documents(&records.get(name).json()) {
            verdict.that(errors.is_empty(), format!("JSON of {name}: {}", errors.join("; ")));
        }
    }
}

/// Writes the claims of a job, one per line, with `N` for numbers, so that two runs can be compared.
fn save_claims(bench: &Bench, job: &ScenarioJob, verdict: &ScenarioVerdict) {
    let folder = bench.out.join("claims");
    let mut text = String::new();
    for claim in &verdict.claims {
        let line: String = claim
            .chars()
            .take(200)
            .map(|letter| if letter == '\n' { ' ' } else { letter })
            .collect();
        text.push_str(&without_numbers(&line));
        text.push('\n');
    }
    std::fs::create_dir_all(&folder).ok();
    std::fs::write(folder.join(name(job)), text).ok();
}

fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' if plain.ends_with('N') => {}
            '0'..='9' => plain.push('N'),
            letter => plain.push(letter),
        }
    }
    plain
}

/// The records as readable text.
fn readable(records: &GuestRecords) -> String {
    let mut text = String::new();
    for name in records.names() {
        let record = records.get(name);
        text.push_str(&format!(
            "=== {name}: status {} after {} ms\n",
            record.status, record.ms
        ));
        text.push_str(&record.stdout);
        if !record.stderr.is_empty() {
            text.push_str(&format!("--- stderr\n{}\n", record.stderr));
        }
    }
    text
}

fn copy(file: &Path, to: &Path) {
    std::fs::rename(file, to).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios;

    #[test]
    fn few_failures_are_retried_but_never_searches_for_rare_faults() {
        let all = scenarios::jobs(&[]);
        let job = |name: &str| all.iter().find(|job| job.scenario.name == name).unwrap();
        let names =
            |failed: &[&ScenarioJob]| -> Vec<&str> { again(failed).iter().map(|job| job.scenario.name).collect() };
        let (moved, killed) = (job("run_move"), job("sigkill_anywhere"));
        assert_eq!(names(&[]), [""; 0]);
        assert_eq!(names(&[moved, killed]), ["run_move"]);
        assert_eq!(names(&[moved; MOST_AGAIN]), ["run_move"; MOST_AGAIN]);
        assert_eq!(names(&[moved; MOST_AGAIN + 1]), [""; 0]);
        for seldom in SELDOM {
            assert!(all.iter().any(|job| job.scenario.name == seldom), "{seldom}");
        }
    }
}
