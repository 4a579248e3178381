//! Times and records the steps of `prove`.

use super::MeasurementProgress;
use measure::Progress;
use report::prove::{ProveStep, StepOutcome};
use root::{Failure, Status};
use std::time::{Duration, Instant};

/// The steps so far.
pub struct Steps<'a> {
    steps: Vec<ProveStep>,
    progress: &'a mut dyn MeasurementProgress,
}

impl<'a> Steps<'a> {
    /// No step yet.
    pub fn new(progress: &'a mut dyn MeasurementProgress) -> Steps<'a> {
        Steps {
            steps: Vec::new(),
            progress,
        }
    }

    /// Runs one step and records its result.
    pub fn run<T, E: Into<Failure>>(&mut self, name: &str, act: impl FnOnce() -> Result<T, E>) -> Result<T, Failure> {
        let started = Instant::now();
        let result = act().map_err(Into::into);
        self.record(name, started, &result, |_| StepOutcome::Failed);
        result
    }

    /// Runs a measuring step and shows its progress. No thread shows it, because the sampler is forked from this process.
    pub fn measure<T, E: Into<Failure>>(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut dyn FnMut(&Progress)) -> Result<T, E>,
    ) -> Result<T, Failure> {
        self.measuring(name, act, |_| StepOutcome::Failed)
    }

    /// As [`Steps::measure`]. What this machine cannot do is skipped.
    pub fn measure_if_possible<T, E: Into<Failure>>(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut dyn FnMut(&Progress)) -> Result<T, E>,
    ) -> Result<T, Failure> {
        self.measuring(name, act, |failure| match failure.status {
            Status::Unable => StepOutcome::Skipped,
            _ => StepOutcome::Failed,
        })
    }

    fn measuring<T, E: Into<Failure>>(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut dyn FnMut(&Progress)) -> Result<T, E>,
        failed: fn(&Failure) -> StepOutcome,
    ) -> Result<T, Failure> {
        self.progress.start(name);
        let started = Instant::now();
        let result = act(&mut |progress: &Progress| self.progress.show(progress)).map_err(Into::into);
        self.progress.end();
        self.record(name, started, &result, failed);
        result
    }

    /// Records a step that was not tried.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.add(name, StepOutcome::Skipped, why.to_owned(), Duration::ZERO);
    }

    /// All of them.
    pub fn into_steps(self) -> Vec<ProveStep> {
        self.steps
    }

    fn record<T>(
        &mut self,
        name: &str,
        started: Instant,
        result: &Result<T, Failure>,
        failed: fn(&Failure) -> StepOutcome,
    ) {
        let (outcome, detail) = match result {
            Ok(_) => (StepOutcome::Done, String::new()),
            Err(error) => (failed(error), error.reason()),
        };
        self.add(name, outcome, detail, started.elapsed());
    }

    fn add(&mut self, name: &str, outcome: StepOutcome, detail: String, took: Duration) {
        let duration_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.steps.push(ProveStep {
            name: name.to_owned(),
            outcome,
            detail,
            duration_ns,
        });
    }
}
