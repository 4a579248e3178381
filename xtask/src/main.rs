//! The project's own chores: `check`, `test`, `lab`, `bench`, `dist`. People call them through the Makefile.

mod bench;
mod bench_archives;
mod bench_blame;
mod bench_daemon;
mod bench_planning;
mod bench_recording;
mod bench_traces;
mod bench_truth;
mod dist;
mod dist_armv7;
mod error;
mod formatted;
mod generate;
mod inject;
mod lab_run;
mod logged;
mod programs;
mod report;
mod suite;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- VERB
  check           formatting, lints, and the tests that need nothing but the files of the project
  test            check, the tests of this machine, and the smoke part of the lab
  test-all        test, and the rest of the lab; test-rest: that rest alone, after test
  test-live       only the tests of this machine
  test-names      the names of all tests
  lab [FILTER]    scenarios on real kernels; lab list, lab fetch, lab try SCRIPT [FILTER]
  bench           speed, memory and size
  bench-traces    of these only how fast a trace is decoded
  bench-recording what it costs a CPU to be traced, beside trace-cmd and perf
  bench-truth [--blocks N] [--seconds S] [--seed N]   samplers against known disturbances
  bench-blame [--only NAME,NAME] ...   blame against disturbances whose culprits are known
  bench-daemon [--seconds N | --memory N]   what watch --daemon costs, and where it runs; or what it holds
  inject KIND ...  disturbs a CPU or a process at known times, one line per event
  generate DIR CPUS IRQS TASKS   a captured machine of that size
  dist            static binaries for three architectures";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["check"] => suite::check(),
        ["test"] => suite::test(),
        ["test-all"] => suite::test_all(),
        ["test-rest"] => suite::test_rest(),
        ["test-live"] => suite::live(),
        ["test-names"] => programs::list(),
        ["lab", words @ ..] => lab_run::command(words),
        ["bench"] => bench::run(),
        ["bench-traces"] => bench_traces::run(),
        ["bench-recording"] => bench_recording::run(),
        ["bench-truth", rest @ ..] => bench_truth::run(rest),
        ["bench-blame", rest @ ..] => bench_blame::run(rest),
        ["bench-daemon", rest @ ..] => bench_daemon::run(rest),
        ["inject", rest @ ..] => inject::run(rest),
        ["generate", dir, cpus, irqs, tasks] => generate::from_words(dir, [cpus, irqs, tasks]),
        ["dist"] => dist::run(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error::XtaskError::Failed) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
