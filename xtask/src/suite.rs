//! Runs `make check`, `make test` and `make test-all`: the stages of each, and one closing line for all of them.

use crate::armv7::Armv7Compiler;
use crate::error::{TaskResult, product};
use crate::logged::{CargoOutcome, logged};
use crate::programs::{self, TestProgram, Tests};
use crate::report::{CheckTotals, TaskReport};
use crate::{formatted, lab_run};
use lab::scenarios::{ScenarioPart, part};
use std::process::Command;

/// Checks formatting and lints, and runs the tests that need only the project's files.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn check() -> TaskResult {
    let mut report = TaskReport::since_make();
    let result = pure(&mut report).map(drop);
    report.close(result)
}

/// Runs [`check`], the tests of this machine, and the smoke part of the lab.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn test() -> TaskResult {
    TaskReport::remove_saved()?;
    let mut report = TaskReport::since_make();
    let result = quick(&mut report);
    report.save()?;
    report.close(result)
}

/// Runs [`test`] and the rest of the lab.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn test_all() -> TaskResult {
    let mut report = TaskReport::since_make();
    let result = quick(&mut report).and_then(|()| rest(&mut report));
    report.close(result)
}

/// Runs what [`test_all`] adds to [`test`], which ran before. The closing line covers both.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn test_rest() -> TaskResult {
    let mut report = TaskReport::since_make();
    report.add_saved()?;
    let result = rest(&mut report);
    report.close(result)
}

/// Runs only the tests of this machine.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn live() -> TaskResult {
    let mut report = TaskReport::since_make();
    let result = build(&mut report).and_then(|built| of_this_machine(&built, &mut report));
    report.close(result)
}

fn pure(report: &mut TaskReport) -> TaskResult<Vec<TestProgram>> {
    let fmt = formatted::arguments()?;
    let fmt: Vec<&str> = fmt.iter().map(String::as_str).collect();
    report.stage("formatting", |_| subcommand("fmt", &fmt))?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    report.stage("lints", |_| subcommand("clippy", &clippy))?;
    let built = build(report)?;
    report.stage("pure tests", |report| programs::run(&built, Tests::Pure, None, report))?;
    Ok(built)
}

fn build(report: &mut TaskReport) -> TaskResult<Vec<TestProgram>> {
    report.timed("building tests", |_| programs::build())
}

fn of_this_machine(built: &[TestProgram], report: &mut TaskReport) -> TaskResult {
    let program = report.timed("building the static program", |_| product())?;
    // Studies in a guest need a kernel of the lab.
    report.timed("fetching kernels", |_| lab_run::fetch(&part(ScenarioPart::Smoke)))?;
    report.stage("live tests", |report| {
        programs::run(built, Tests::Live, Some(&program), report)
    })
}

fn quick(report: &mut TaskReport) -> TaskResult {
    let built = pure(report)?;
    of_this_machine(&built, report)?;
    report.stage("lab, smoke part", |report| {
        lab_run::run(&part(ScenarioPart::Smoke), report)
    })
}

fn rest(report: &mut TaskReport) -> TaskResult {
    report.stage("compiling for armv7", |_| armv7())?;
    report.stage("lab, the rest", |report| {
        lab_run::run(&part(ScenarioPart::Rest), report)
    })
}

/// Checks that the programs compile where a pointer has 32 bits.
fn armv7() -> TaskResult<CheckTotals> {
    let compiler = match Armv7Compiler::find() {
        Ok(compiler) => compiler,
        Err(error) => {
            println!("SKIP: armv7: there is no compiler for it: {error}");
            return Ok(CheckTotals {
                skipped: 1,
                ..CheckTotals::default()
            });
        }
    };
    let result = compiler.check();
    if let Err(error) = &result {
        println!("FAIL  armv7: {error}");
    }
    Ok(CheckTotals {
        passed: usize::from(result.is_ok()),
        failed: usize::from(result.is_err()),
        ..CheckTotals::default()
    })
}

/// Runs a cargo subcommand as one check. It is skipped if this toolchain lacks it.
fn subcommand(name: &str, arguments: &[&str]) -> TaskResult<CheckTotals> {
    let is_there = Command::new("cargo")
        .args([name, "--version"])
        .output()
        .is_ok_and(|it| it.status.success());
    if !is_there {
        println!("SKIP: {name}: this toolchain has no cargo {name}; rustup component add it");
        return Ok(CheckTotals {
            skipped: 1,
            ..CheckTotals::default()
        });
    }
    let (how, _) = logged(name, arguments)?;
    Ok(CheckTotals {
        passed: usize::from(how == CargoOutcome::Succeeded),
        failed: usize::from(how != CargoOutcome::Succeeded),
        ..CheckTotals::default()
    })
}
