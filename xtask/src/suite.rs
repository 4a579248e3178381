//! `make test`: every check one after the other, each with a log, and one closing line over all of them.

use crate::error::{Done, XtaskError, build_static};
use crate::logged::{How, logged};
use crate::{formatted, lab_run};
use std::process::Command;

/// Sums over all checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What held.
    pub passed: usize,
    /// What did not.
    pub failed: usize,
    /// What could not run here; its reason was printed.
    pub skipped: usize,
    /// Of what failed, scenarios of the lab that held when they ran alone; each was printed.
    pub unstable: usize,
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unstable += other.unstable;
    }

    /// Prints the closing line.
    fn close(self) -> Done {
        println!(
            "{} passed, {} failed, {} skipped, {} unstable",
            self.passed, self.failed, self.skipped, self.unstable
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
    let fmt = formatted::arguments()?;
    totals.add(check("fmt", &fmt.iter().map(String::as_str).collect::<Vec<_>>())?);
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
    let (how, _) = logged(name, arguments)?;
    Ok(Totals {
        passed: usize::from(how == How::Succeeded),
        failed: usize::from(how != How::Succeeded),
        ..Totals::default()
    })
}

fn cargo_tests() -> Done<Totals> {
    // Studies in virtual machines need the program that is built for the lab as well.
    let program = build_static(&["quietcore"])?.join("quietcore");
    let named = format!("env.QUIETCORE_BIN={:?}", program.display().to_string());
    let arguments = [
        "test",
        "--workspace",
        "--locked",
        "--no-fail-fast",
        "--config",
        &named,
        "--",
        "--show-output",
    ];
    let (mut how, mut text) = logged("test", &arguments)?;
    let has_hung = how == How::Hung;
    if has_hung {
        // What hung was printed, and is a defect to be found. The rest is not left unknown because of it.
        println!("      all of them once more, because no result was reached");
        (how, text) = logged("test-again", &arguments)?;
    }
    let mut totals = count(&text);
    for line in skips(&text) {
        println!("{line}");
    }
    // A test program that does not build or dies has no result line.
    if how != How::Succeeded && totals.failed == 0 {
        totals.failed = 1;
    }
    // What hung once is a failure, whatever came of the second time.
    totals.failed += usize::from(has_hung);
    println!(
        "      {} passed, {} failed, {} skipped",
        totals.passed, totals.failed, totals.skipped
    );
    Ok(totals)
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
            unstable: 0,
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
    fn results_of_all_test_programs_are_summed_and_skips_taken_out() {
        let text = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    ---- a stdout ----\nSKIP: a: no root\nSKIP: a: no root\n\
                    test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(
            count(text),
            Totals {
                passed: 14,
                failed: 2,
                skipped: 2,
                unstable: 0
            }
        );
    }
}
