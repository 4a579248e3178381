//! Runs the lab from the command line: lists cells, fetches kernels, runs scenarios, tries a script in a guest.

use crate::document_schemas::DocumentSchemas;
use crate::error::{TaskResult, XtaskError, lab_guest, product, target_dir};
use crate::packages;
use crate::report::{CheckTotals, TaskReport};
use lab::bench::{Bench, MissingProgram, debs};
use lab::runner::{self, JobResult, ScenarioJob};
use lab::scenarios;
use std::path::PathBuf;
use std::time::Instant;

/// Runs `xtask lab ...`: `list`, `fetch` or `try SCRIPT` with a filter, or only a filter, which runs the matching
/// scenarios.
///
/// # Errors
/// [`XtaskError`] when a scenario failed or nothing matches the filter.
pub fn command(words: &[&str]) -> TaskResult {
    let (verb, script, filter) = match words {
        ["list", filter @ ..] => ("list", "", filter),
        ["fetch", filter @ ..] => ("fetch", "", filter),
        ["try", script, filter @ ..] => ("try", *script, filter),
        filter => ("run", "", filter),
    };
    let filter: Vec<String> = filter.iter().map(|word| (*word).to_owned()).collect();
    let jobs = scenarios::jobs(&filter);
    if jobs.is_empty() {
        return Err(failed(
            "no scenario fits; `cargo run -p xtask -- lab list` shows all".to_owned(),
        ));
    }
    match verb {
        "list" => {
            for job in &jobs {
                println!("{:<44} {}", job.label(), job.scenario.about);
            }
            Ok(())
        }
        "fetch" => kernels(&bench(&jobs)?.map_err(|why| failed(why.to_string()))?),
        "try" => try_script(script, &jobs),
        _ => {
            let mut report = TaskReport::default();
            let result = report.stage("lab", |report| run(&jobs, report));
            report.close(result)
        }
    }
}

/// Runs jobs and prints a line for each as it ends.
///
/// # Errors
/// [`XtaskError`] when a program for the guests cannot be built.
pub fn run(jobs: &[ScenarioJob], report: &mut TaskReport) -> TaskResult<CheckTotals> {
    run_with((product()?, lab_guest()?), jobs, report)
}

/// Like [`run`], with given binaries: quietcore and lab-guest.
///
/// # Errors
/// [`XtaskError`] when the packages that guests install cannot be made.
pub fn run_with(
    programs: (PathBuf, PathBuf),
    jobs: &[ScenarioJob],
    report: &mut TaskReport,
) -> TaskResult<CheckTotals> {
    let bench = match bench_with(programs, jobs)? {
        Ok(bench) => bench,
        // A host without an emulator or a shell cannot check anything.
        Err(why) => {
            println!("SKIP: lab: {why}");
            return Ok(CheckTotals {
                skipped: jobs.len(),
                ..CheckTotals::default()
            });
        }
    };
    // Jobs whose requirements are missing are skipped later, each with its reason.
    let _ = kernels(&bench);
    println!("guests run by {}", bench.accelerator.word());
    let started = Instant::now();
    let totals = runner::run(&bench, jobs, &print);
    println!("{} scenarios in {:.0} s", jobs.len(), started.elapsed().as_secs_f64());
    for (label, took) in totals.times {
        report.add_time(format!("lab {label}"), took);
    }
    Ok(CheckTotals {
        passed: totals.passed,
        failed: totals.failed,
        skipped: totals.skipped,
        unstable: totals.unstable,
    })
}

/// Fetches the kernels and systemd versions of these jobs. Jobs whose requirements are missing are skipped later, each
/// with its reason.
///
/// # Errors
/// [`XtaskError`] when a program for the guests cannot be built.
pub fn fetch(jobs: &[ScenarioJob]) -> TaskResult {
    bench(jobs).map(drop)
}

/// Builds the programs of the guests, or uses those that `QUIETCORE_BIN` and `LAB_GUEST_BIN` name.
fn bench(jobs: &[ScenarioJob]) -> TaskResult<Result<Bench, MissingProgram>> {
    bench_with((product()?, lab_guest()?), jobs)
}

/// Prepares the guests of these jobs, with packages of quietcore if they install any.
fn bench_with(
    (quietcore, guest): (PathBuf, PathBuf),
    jobs: &[ScenarioJob],
) -> TaskResult<Result<Bench, MissingProgram>> {
    let out = target_dir().join("lab");
    if jobs.iter().any(|job| !job.cell.shape.debs.is_empty()) {
        packages::of_lab(&quietcore, &debs(&out))?;
    }
    let schemas = DocumentSchemas::read()?;
    let documents = Box::new(move |document: &_| schemas.errors(document));
    Ok(Bench::prepare(jobs, quietcore, guest, out, documents))
}

/// Prints the available kernels.
fn kernels(bench: &Bench) -> TaskResult {
    for (id, kernel) in &bench.kernels {
        match kernel {
            Ok(ready) => println!("kernel {id:<10} {}", ready.release),
            Err(why) => println!("kernel {id:<10} is missing: {why}"),
        }
    }
    let is_whole = bench.kernels.values().all(Result::is_ok) && bench.userlands.values().all(Result::is_ok);
    if is_whole { Ok(()) } else { Err(XtaskError::Failed) }
}

fn try_script(script: &str, jobs: &[ScenarioJob]) -> TaskResult {
    let text = std::fs::read_to_string(script).map_err(XtaskError::file(script.as_ref()))?;
    let one = jobs.get(..1).unwrap_or_default();
    let bench = bench(one)?.map_err(|why| failed(why.to_string()))?;
    for job in one {
        let kernel = bench.kernels.get(job.cell.kernel.id);
        let ready = kernel.map(|kernel| kernel.as_ref().map_err(|why| failed(why.clone())));
        if let Some(ready) = ready {
            let outcome = runner::try_script(&bench, ready?, &job.cell, &text);
            print!("{}", outcome.map_err(|error| failed(error.to_string()))?);
        }
    }
    Ok(())
}

fn failed(why: String) -> XtaskError {
    XtaskError::Program {
        program: "lab".to_owned(),
        why,
    }
}

fn print(finished: &JobResult) {
    let verdict = &finished.verdict;
    let notes = match verdict.notes.as_slice() {
        [] => String::new(),
        notes => format!("  {}", notes.join("; ")),
    };
    let seconds = finished.duration.as_secs_f64();
    let label = &finished.label;
    if let Some(why) = &verdict.skipped {
        println!("SKIP: {label}: {why}");
    } else if verdict.failures.is_empty() {
        println!(
            "ok    {label:<44} {seconds:>6.1} s  {} claims{notes}",
            verdict.claims.len()
        );
    } else {
        println!("FAIL  {label:<44} {seconds:>6.1} s{notes}");
        for failure in verdict.failures.iter().take(12) {
            println!("        {}", failure.chars().take(400).collect::<String>());
        }
    }
}
