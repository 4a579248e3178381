//! Parses the arguments and runs a task.

use std::process::ExitCode;
use xtask::error::report;
use xtask::{dist, lab_run, programs, suite};

const USAGE: &str = "usage: cargo run -p xtask -- VERB
  check           formatting, lints, and the tests that need nothing but the files of the project
  test            check, the tests of this machine, and the smoke part of the lab
  test-all        test, and the rest of the lab; test-rest: that rest alone, after test
  test-live       only the tests of this machine
  test-names      the names of all tests
  lab [FILTER]    scenarios on real kernels; lab list, lab fetch, lab try SCRIPT [FILTER]
  dist            a release for three architectures: binaries, packages, checksums";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    report(match words.as_slice() {
        ["check"] => suite::check(),
        ["test"] => suite::test(),
        ["test-all"] => suite::test_all(),
        ["test-rest"] => suite::test_rest(),
        ["test-live"] => suite::live(),
        ["test-names"] => programs::list(),
        ["lab", words @ ..] => lab_run::command(words),
        ["dist"] => dist::run(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    })
}
