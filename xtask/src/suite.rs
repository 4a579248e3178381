//! Runs `make check`, `make test` and `make test-all`: the stages of each, and one closing line for all of them.

use crate::error::{Done, product};
use crate::logged::{How, logged};
use crate::programs::{self, Program, Tests};
use crate::report::{Report, Totals};
use crate::{formatted, lab_run};
use lab::scenarios::{Part, part};
use std::process::Command;

/// Formatting, lints and the tests that need only the project's files.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn check() -> Done {
    let mut report = Report::since_make();
    let result = pure(&mut report).map(drop);
    report.close(result)
}

/// Runs [`check`], the tests of this machine, and the smoke part of the lab.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn test() -> Done {
    Report::forget_kept()?;
    let mut report = Report::since_make();
    let result = quick(&mut report);
    report.keep()?;
    report.close(result)
}

/// Runs [`test`] and the rest of the lab.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn test_all() -> Done {
    let mut report = Report::since_make();
    let result = quick(&mut report).and_then(|()| rest(&mut report));
    report.close(result)
}

/// Runs what [`test_all`] adds to [`test`], which ran before; the closing line covers both.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn test_rest() -> Done {
    let mut report = Report::since_make();
    report.add_kept()?;
    let result = rest(&mut report);
    report.close(result)
}

/// Runs only the tests of this machine.
///
/// # Errors
/// [`crate::error::XtaskError::Failed`] when anything failed.
pub fn live() -> Done {
    let mut report = Report::since_make();
    let result = build(&mut report).and_then(|built| of_this_machine(&built, &mut report));
    report.close(result)
}

fn pure(report: &mut Report) -> Done<Vec<Program>> {
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
    report.stage("pure tests", |report| {
        programs::run(&built, Tests::Pure, None, report)
    })?;
    Ok(built)
}

fn build(report: &mut Report) -> Done<Vec<Program>> {
    report.timed("building tests", |_| programs::build())
}

fn of_this_machine(built: &[Program], report: &mut Report) -> Done {
    let program = report.timed("building the static program", |_| product())?;
    // Studies in a guest need a kernel from there.
    report.timed("fetching kernels", |_| lab_run::fetch(&part(Part::Smoke)))?;
    report.stage("live tests", |report| {
        programs::run(built, Tests::Live, Some(&program), report)
    })
}

fn quick(report: &mut Report) -> Done {
    let built = pure(report)?;
    of_this_machine(&built, report)?;
    report.stage("lab, smoke part", |report| {
        lab_run::run(&part(Part::Smoke), report)
    })
}

fn rest(report: &mut Report) -> Done {
    report.stage("lab, the rest", |report| lab_run::run(&part(Part::Rest), report))
}

/// Runs a cargo subcommand as one check. A subcommand that this toolchain lacks is skipped.
fn subcommand(name: &str, arguments: &[&str]) -> Done<Totals> {
    let is_there = Command::new("cargo")
        .args([name, "--version"])
        .output()
        .is_ok_and(|it| it.status.success());
    if !is_there {
        println!("SKIP: {name}: this toolchain has no cargo {name}; rustup component add it");
        return Ok(Totals {
            skipped: 1,
            ..Totals::default()
        });
    }
    let (how, _) = logged(name, arguments)?;
    Ok(Totals {
        passed: usize::from(how == How::Succeeded),
        failed: usize::from(how != How::Succeeded),
        ..Totals::default()
    })
}
