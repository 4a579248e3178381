//! `make test`: every check one after the other, each with a log, and one closing line over all of them.

use crate::error::{Done, XtaskError, target_dir, top};
use crate::lab_run;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// So many telling lines are shown before the end of a log.
const MOST_TELLING: usize = 24;

/// Sums over all checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What held.
    pub passed: usize,
    /// What did not.
    pub failed: usize,
    /// What could not run here; its reason was printed.
    pub skipped: usize,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Prints the closing line.
    fn close(self) -> Done {
        println!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        );
        if self.failed == 0 && self.passed > 0 {
            Ok(())
        } else {
            Err(XtaskError::Failed)
        }
    }
}

/// All levels.
///
/// # Errors
/// [`XtaskError::Failed`] when anything failed.
pub fn test() -> Done {
    let mut totals = Totals::default();
    totals.add(check("fmt", &["fmt", "--all", "--check"])?);
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
    totals.add(check("clippy", &clippy)?);
    totals.add(cargo_tests()?);
    totals.add(lab_run::run(&[])?);
    totals.close()
}

/// Only the lab.
///
/// # Errors
/// [`XtaskError::Failed`] when a scenario failed.
pub fn lab(filter: &[&str]) -> Done {
    lab_run::run(filter)?.close()
}

/// A cargo subcommand as one check. One that this toolchain does not have is skipped.
fn check(name: &str, arguments: &[&str]) -> Done<Totals> {
    let there = Command::new("cargo")
        .args([name, "--version"])
        .output()
        .is_ok_and(|it| it.status.success());
    if !there {
        println!("SKIP: {name}: this toolchain has no cargo {name}; rustup component add it");
        return Ok(Totals {
            skipped: 1,
            ..Totals::default()
        });
    }
    let (succeeded, _) = logged(name, arguments)?;
    Ok(Totals {
        passed: usize::from(succeeded),
        failed: usize::from(!succeeded),
        skipped: 0,
    })
}

fn cargo_tests() -> Done<Totals> {
    let arguments = [
        "test",
        "--workspace",
        "--locked",
        "--no-fail-fast",
        "--",
        "--show-output",
    ];
    let (succeeded, text) = logged("test", &arguments)?;
    let mut totals = count(&text);
    for line in skips(&text) {
        println!("{line}");
    }
    // A test program that does not build or dies has no result line.
    if !succeeded && totals.failed == 0 {
        totals.failed = 1;
    }
    println!(
        "      {} passed, {} failed, {} skipped",
        totals.passed, totals.failed, totals.skipped
    );
    Ok(totals)
}

/// Runs cargo with its output in a log, and shows the end of the log when it failed.
fn logged(name: &str, arguments: &[&str]) -> Done<(bool, String)> {
    let log = log_file(name)?;
    let file = File::create(&log).map_err(XtaskError::file(&log))?;
    let errors = file.try_clone().map_err(XtaskError::file(&log))?;
    let started = Instant::now();
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(top())
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        .status()
        .map_err(|error| XtaskError::Program {
            program: "cargo".to_owned(),
            why: error.to_string(),
        })?;
    let text = String::from_utf8_lossy(&std::fs::read(&log).map_err(XtaskError::file(&log))?).into_owned();
    let word = if status.success() { "ok   " } else { "FAIL " };
    println!(
        "{word} cargo {name:<10} {:>6.1} s",
        started.elapsed().as_secs_f64()
    );
    if !status.success() {
        let lines: Vec<&str> = text.lines().collect();
        for line in telling(&lines) {
            println!("        {line}");
        }
        println!("        the end of {}:", log.display());
        for line in lines.iter().skip(lines.len().saturating_sub(60)) {
            println!("        {line}");
        }
    }
    Ok((status.success(), text))
}

/// The lines that say what failed, which may stand far above the end: compilers, linkers, tests and what tests say as they stop.
fn telling<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut telling: Vec<&str> = Vec::new();
    // Tests that pass may panic on purpose, and what they print is in the log too.
    let mut passed = false;
    for (place, line) in lines.iter().enumerate() {
        passed = match *line {
            "successes:" => true,
            "failures:" => false,
            line => passed && !line.starts_with("test result: "),
        };
        let panicked = !passed && line.contains(" panicked at ");
        let tells = panicked
            || line.starts_with("error")
            || line.starts_with("Diff in ")
            || line.ends_with(" ... FAILED")
            || line.contains("No space left on device");
        if tells && telling.len() < MOST_TELLING {
            telling.push(line);
            telling.extend(lines.get(place + 1).filter(|_| panicked));
        }
    }
    telling
}

fn log_file(name: &str) -> Done<PathBuf> {
    let dir = target_dir().join("test-logs");
    std::fs::create_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    Ok(dir.join(format!("{name}.log")))
}

/// The sums of all `test result:` lines. A test that said `SKIP:` passed for cargo, but not for us.
fn count(text: &str) -> Totals {
    let mut totals = Totals::default();
    for line in text.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        let number = |word: &str| -> usize {
            let words: Vec<&str> = line.split_whitespace().collect();
            let place = words.iter().position(|it| it.trim_end_matches(';') == word);
            place
                .and_then(|place| words.get(place.checked_sub(1)?)?.parse().ok())
                .unwrap_or(0)
        };
        totals.add(Totals {
            passed: number("passed"),
            failed: number("failed"),
            skipped: number("ignored"),
        });
    }
    let said = skips(text).len();
    totals.passed = totals.passed.saturating_sub(said);
    totals.skipped += said;
    totals
}

fn skips(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("SKIP: "))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_wherever_it_stands() {
        let text = "   Compiling a\nerror: linking with `cc` failed\ntest b ... FAILED\ntest c ... ok\nsuccesses:\n\
                    thread 'c' panicked at c.rs:1:1:\non purpose\nfailures:\nthread 'b' panicked at b.rs:3:5:\nleft is not right\nnote: a backtrace\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            telling(&lines),
            [
                "error: linking with `cc` failed",
                "test b ... FAILED",
                "thread 'b' panicked at b.rs:3:5:",
                "left is not right"
            ]
        );
    }

    #[test]
    fn results_of_all_test_programs_are_summed_and_skips_taken_out() {
        let text = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    ---- a stdout ----\nSKIP: a: no root\nSKIP: a: no root\n\
                    test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(
            count(text),
            Totals {
                passed: 14,
                failed: 2,
                skipped: 2
            }
        );
    }
}
