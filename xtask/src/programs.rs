//! Builds the test programs of the workspace, runs them one after the other, and collects their results and times.

use crate::error::{TaskResult, XtaskError, target_dir};
use crate::logged::{CargoOutcome, CommandEnd, logged, within_silence};
use crate::report::{CheckTotals, TaskReport};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Prefix of the names of live modules.
const LIVE: &str = "live_";

/// Which tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// Tests that need only the project's files.
    Pure,
    /// Tests of modules `live_*`, which measure, trace, need root or drive other programs. They run one at a time, each
    /// in its own process, so that each has the machine for itself and leaves no mount, mask or priority to the next.
    Live,
}

impl Tests {
    /// Number of programs that run at the same time.
    fn at_once(self) -> usize {
        match self {
            Tests::Pure => std::thread::available_parallelism().map_or(1, usize::from),
            Tests::Live => 1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Tests::Pure => "pure",
            Tests::Live => "live",
        }
    }
}

/// One test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestProgram {
    /// `PACKAGE` for the unit tests of a library, `PACKAGE/TARGET` for others.
    pub name: String,
    /// The executable.
    path: PathBuf,
    /// The working directory: the one that cargo uses for tests.
    folder: PathBuf,
}

/// Builds all test programs.
///
/// # Errors
/// [`XtaskError::Failed`] when one does not build; the compiler's output was printed.
pub fn build() -> TaskResult<Vec<TestProgram>> {
    let arguments = [
        "test",
        "--workspace",
        "--locked",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    let (how, text) = logged("build", &arguments)?;
    if how != CargoOutcome::Succeeded {
        return Err(XtaskError::Failed);
    }
    let programs: Vec<TestProgram> = text.lines().filter_map(program).collect();
    println!("      {} test programs", programs.len());
    Ok(programs)
}

/// The test program of a line of cargo's messages.
fn program(line: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let target = message["target"]["name"].as_str()?;
    let is_library = message["target"]["kind"][0] == "lib";
    Some(TestProgram {
        name: if is_library {
            package
        } else {
            format!("{package}/{target}")
        },
        path: message["executable"].as_str()?.into(),
        folder: folder.to_owned(),
    })
}

/// The results of one program's tests.
#[derive(Default)]
struct TestResults {
    totals: CheckTotals,
    times: Vec<(String, Duration)>,
    skipped: Vec<String>,
}

/// Runs the tests of all programs. `product` is the static quietcore, which guests of some tests start.
///
/// # Errors
/// [`XtaskError`] when a program cannot be started.
pub fn run(
    programs: &[TestProgram],
    tests: Tests,
    product: Option<&Path>,
    report: &mut TaskReport,
) -> TaskResult<CheckTotals> {
    let queue = Mutex::new(programs.iter());
    let found = Mutex::new(Ok(TestResults::default()));
    std::thread::scope(|scope| {
        for _ in 0..tests.at_once() {
            scope.spawn(|| {
                loop {
                    let next = locked(&queue).next();
                    let Some(program) = next else { break };
                    let of_one = all_of(program, tests, product);
                    let mut found = locked(&found);
                    match (found.as_mut(), of_one) {
                        (Ok(found), Ok(more)) => {
                            found.totals.add(more.totals);
                            found.times.extend(more.times);
                            found.skipped.extend(more.skipped);
                        }
                        (Ok(_), Err(error)) => *found = Err(error),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let TestResults {
        mut totals,
        times,
        mut skipped,
    } = found?;
    for (name, time) in times {
        report.add_time(name, time);
    }
    skipped.sort_unstable();
    skipped.dedup();
    for line in &skipped {
        println!("{line}");
    }
    // A test that printed a skip reason passed according to its program, but counts as skipped here.
    totals.passed = totals.passed.saturating_sub(skipped.len());
    totals.skipped += skipped.len();
    println!("      {}", totals.line());
    Ok(totals)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the tests of one program and prints a line for it.
fn all_of(program: &TestProgram, tests: Tests, product: Option<&Path>) -> TaskResult<TestResults> {
    let started = Instant::now();
    let selections = match tests {
        Tests::Pure => vec![["--skip", LIVE].map(str::to_owned)],
        Tests::Live => live_tests(program)?,
    };
    let mut found = TestResults::default();
    for selection in selections {
        let (totals, text) = one(program, tests, &selection, product)?;
        found.totals.add(totals);
        let named = |(test, time)| (format!("{} {test}", program.name), time);
        found.times.extend(times(&text).map(named));
        found.skipped.extend(skips(&text).map(str::to_owned));
    }
    let sums = found.totals;
    if sums != CheckTotals::default() {
        let word = if sums.failed == 0 { "ok   " } else { "FAIL " };
        println!(
            "{word} {:<6} {:<28} {:>6.1} s  {} tests",
            tests.name(),
            program.name,
            started.elapsed().as_secs_f64(),
            sums.passed + sums.failed
        );
    }
    Ok(found)
}

/// The filter that selects each live test of a program.
fn live_tests(program: &TestProgram) -> TaskResult<Vec<[String; 2]>> {
    let names = names(program, &[LIVE])?;
    Ok(names.into_iter().map(|name| ["--exact".to_owned(), name]).collect())
}

/// The names of a program's tests that match a filter.
fn names(program: &TestProgram, filter: &[&str]) -> TaskResult<Vec<String>> {
    let output = Command::new(&program.path)
        .args(["--list", "--format=terse"])
        .args(filter)
        .current_dir(&program.folder)
        .output()
        .map_err(XtaskError::file(&program.path))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// Runs a selection of a program's tests and prints failures. Returns the results and the output.
fn one(
    program: &TestProgram,
    tests: Tests,
    selection: &[String; 2],
    product: Option<&Path>,
) -> TaskResult<(CheckTotals, String)> {
    let name = match (tests, selection) {
        (Tests::Pure, _) => tests.name(),
        (Tests::Live, [_, name]) => name,
    };
    let log = target_dir()
        .join("test-logs")
        .join(format!("{}-{}.log", program.name, name).replace(['/', ':'], "-"));
    let mut command = Command::new(&program.path);
    command
        .args(selection)
        .args(["--show-output", "-Zunstable-options", "--report-time"])
        .current_dir(&program.folder)
        // The times of single tests are an unstable option of the test library. This variable makes stable toolchains
        // accept it.
        .env("RUSTC_BOOTSTRAP", "1");
    if let Some(product) = product {
        command.env("QUIETCORE_BIN", product);
    }
    let ended = within_silence(&mut command, &log)?;
    let text = String::from_utf8_lossy(&std::fs::read(&log).map_err(XtaskError::file(&log))?).into_owned();
    let mut found = count(&text);
    if !matches!(&ended, CommandEnd::With(status) if status.success()) {
        // A program that crashed has no result line.
        found.failed = found.failed.max(1);
        println!("FAIL  {} {name}", program.name);
        crate::logged::show_failure(&ended, &text, &log);
    }
    Ok((found, text))
}

/// The sums of the `test result:` lines.
fn count(text: &str) -> CheckTotals {
    let mut totals = CheckTotals::default();
    for line in text.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        let number = |word: &str| -> usize {
            let words: Vec<&str> = line.split_whitespace().collect();
            let place = words.iter().position(|it| it.trim_end_matches(';') == word);
            place
                .and_then(|place| words.get(place.checked_sub(1)?)?.parse().ok())
                .unwrap_or(0)
        };
        totals.add(CheckTotals {
            passed: number("passed"),
            failed: number("failed"),
            skipped: number("ignored"),
            unstable: 0,
        });
    }
    totals
}

fn skips(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| line.starts_with("SKIP: "))
}

/// The tests with their times: `test NAME ... ok <0.123s>`.
fn times(text: &str) -> impl Iterator<Item = (&str, Duration)> {
    text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (_, time) = rest.rsplit_once('<')?;
        let seconds: f64 = time.strip_suffix("s>")?.parse().ok()?;
        Some((name, Duration::try_from_secs_f64(seconds).ok()?))
    })
}

/// Prints the names of all tests, one per line, with their programs.
///
/// # Errors
/// [`XtaskError`] when they do not build or do not start.
pub fn list() -> TaskResult {
    for program in build()? {
        for name in names(&program, &[])? {
            println!("{} {name}", program.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_skips_and_times_of_a_test_program_are_collected() {
        let text = "test a ... ok <0.250s>\ntest b ... FAILED <1.5s>\n\
                    test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    ---- a stdout ----\nSKIP: a: no root\n\
                    test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let sums = count(text);
        assert_eq!((sums.passed, sums.failed, sums.skipped), (15, 2, 1));
        assert_eq!(skips(text).collect::<Vec<_>>(), ["SKIP: a: no root"]);
        let found: Vec<(&str, u128)> = times(text).map(|(name, time)| (name, time.as_millis())).collect();
        assert_eq!(found, [("a", 250), ("b", 1500)]);
    }

    #[test]
    fn only_artifacts_built_as_tests_are_test_programs() {
        let line = |kind: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/a/crates/root/Cargo.toml\",\"target\":\
                 {{\"kind\":[\"{kind}\"],\"name\":\"suite\"}},\"profile\":{{\"test\":{test}}},\"executable\":\"/a/x\"}}"
            )
        };
        let name = |line: String| program(&line).map(|it| it.name);
        assert_eq!(name(line("lib", true)).as_deref(), Some("root"));
        assert_eq!(name(line("test", true)).as_deref(), Some("root/suite"));
        assert_eq!(name(line("bin", false)), None);
        assert_eq!(name("   Compiling root".to_owned()), None);
    }
}
