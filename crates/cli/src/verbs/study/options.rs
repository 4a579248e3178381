//! Options that all studies have which are written for the user, and what they are in the file of a study.

use ::study::{Experiment, Load, What};
use clap::ValueEnum;
use machine::parse_duration;
use std::path::PathBuf;

/// What nobody has to say.
#[derive(clap::Args)]
pub struct Options {
    /// Policy of the sampler, as `measure` takes it
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,
    /// Period of the wake-ups, as `measure` takes it
    #[arg(long, value_name = "TIME", value_parser = a_time)]
    interval: Option<String>,
    /// The longest time that this call may take; the same command goes on
    #[arg(long, value_name = "TIME", value_parser = a_time)]
    budget: Option<String>,
    /// From which the order of the runs is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// Where the results go: DIR/CELL/N.json, and DIR/study.toml, which `study run` and `study report` know
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// What is measured, as each study has its own defaults for it.
pub struct Measured<'a> {
    /// Latency, noise or both.
    pub what: What,
    /// The CPUs, as they were written.
    pub cpus: &'a str,
    /// How long each run measures, as it was written.
    pub each: &'a str,
    /// How often each cell is run.
    pub repetitions: usize,
    /// How long the machine is left alone before each run, as it was written.
    pub cool_down: &'a str,
    /// Kinds of load, as they were written.
    pub load: &'a str,
    /// Where the load runs.
    pub load_on: LoadOn,
}

impl Options {
    /// The experiment that is written into the file.
    pub fn experiment(&self, measured: &Measured) -> Experiment {
        Experiment {
            what: measured.what,
            cpus: measured.cpus.to_owned(),
            each: measured.each.to_owned(),
            policy: self.policy.clone(),
            interval: self.interval.clone(),
            load: Load {
                kinds: measured.load.to_owned(),
                place: measured.load_on.word(),
            },
            repetitions: measured.repetitions,
            seed: u64::from(self.seed),
            budget: self.budget.clone(),
            cool_down: measured.cool_down.to_owned(),
        }
    }

    /// The file that is written.
    pub fn file(&self) -> PathBuf {
        self.out.join("study.toml")
    }
}

/// Where a load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadOn {
    /// On every CPU that a program which nobody pinned may use
    Everywhere,
    /// Never on the measured CPUs
    Others,
}

impl LoadOn {
    /// As the file of a study has it.
    fn word(self) -> &'static str {
        match self {
            LoadOn::Everywhere => "everywhere",
            LoadOn::Others => "others",
        }
    }
}

/// A time, as it was written.
pub fn a_time(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}
