//! Runs the benchmarks, each together with its peers. The Makefile is the user interface.
//!
//! They are a separate package because `make check` builds `xtask` first and need not build their dependencies.

mod archives;
mod blame;
mod daemon;
mod generate;
mod inject;
mod planning;
mod prediction;
mod recording;
mod speed;
mod traces;
mod truth;

use std::process::ExitCode;
use xtask::error::report;

const USAGE: &str = "usage: cargo run -p bench -- VERB
  speed           speed, memory and size on a machine with 1,024 CPUs
  traces          of these only how fast a trace is decoded
  recording       what it costs a CPU to be traced, beside trace-cmd and perf
  truth [--blocks N] [--seconds S] [--seed N]   samplers against known disturbances
  blame [--only NAME,NAME] ...   blame against disturbances whose culprits are known
  predict [--cpu N] [--for TIME] [--repetitions N] [--only LOAD,LOAD]   predictions against what knobs then gain
  daemon [--seconds N | --memory N]   what watch --daemon costs, and where it runs; or its memory over time
  inject KIND ...  disturbs a CPU or a process at known times, one line per event
  generate DIR CPUS IRQS TASKS   a captured machine of that size";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    report(match words.as_slice() {
        ["speed"] => speed::run(),
        ["traces"] => traces::run(),
        ["recording"] => recording::run(),
        ["truth", rest @ ..] => truth::run(rest),
        ["blame", rest @ ..] => blame::run(rest),
        ["predict", rest @ ..] => prediction::run(rest),
        ["daemon", rest @ ..] => daemon::run(rest),
        ["inject", rest @ ..] => inject::run(rest),
        ["generate", dir, cpus, irqs, tasks] => generate::from_words(dir, [cpus, irqs, tasks]),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    })
}
