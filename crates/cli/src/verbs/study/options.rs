//! Shared options of all generated studies, and their text in the study file.

use ::study::{Experiment, LoadLevel};
use clap::ValueEnum;
use machine::parse_duration;
use measure::MeasurementKind;
use std::path::PathBuf;

/// Optional settings of a study.
#[derive(clap::Args)]
pub struct StudyOptions {
    /// Scheduling policy of the measuring thread, as in `measure`
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,
    /// Period of the wake-ups, as in `measure`
    #[arg(long, value_name = "TIME", value_parser = a_time)]
    interval: Option<String>,
    /// Stop after this time; the same command continues
    #[arg(long, value_name = "TIME", value_parser = a_time)]
    budget: Option<String>,
    /// Seed of the random order of the runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// Write the results to DIR/CELL/N.json, and the study to DIR/study.toml
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// What is measured. Each study has its own defaults for these.
pub struct MeasureSpec<'a> {
    /// Latency, noise or both.
    pub what: MeasurementKind,
    /// The CPUs, as given.
    pub cpus: &'a str,
    /// How long each run measures, as given.
    pub each: &'a str,
    /// The number of runs of each cell.
    pub repetitions: usize,
    /// Idle time before each run, as given.
    pub cool_down: &'a str,
    /// Kinds of load, as given.
    pub load: &'a str,
    /// Where the load runs.
    pub load_on: LoadPlacement,
}

impl StudyOptions {
    /// The experiment for the file.
    pub fn experiment(&self, measured: &MeasureSpec) -> Experiment {
        Experiment {
            what: measured.what,
            cpus: measured.cpus.to_owned(),
            each: measured.each.to_owned(),
            policy: self.policy.clone(),
            interval: self.interval.clone(),
            load: LoadLevel {
                kinds: measured.load.to_owned(),
                place: measured.load_on.word(),
            },
            repetitions: measured.repetitions,
            seed: u64::from(self.seed),
            budget: self.budget.clone(),
            cool_down: measured.cool_down.to_owned(),
        }
    }

    /// The path of the generated file.
    pub fn file(&self) -> PathBuf {
        self.out.join("study.toml")
    }
}

/// Where a load runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadPlacement {
    /// On every CPU that an unpinned program may use; isolation keeps it off the measured CPUs
    Everywhere,
    /// Never on the measured CPUs
    Others,
}

impl LoadPlacement {
    /// Its text in a study file.
    fn word(self) -> &'static str {
        match self {
            LoadPlacement::Everywhere => "everywhere",
            LoadPlacement::Others => "others",
        }
    }
}

/// Checks a duration and keeps its text.
pub fn a_time(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned())
}
