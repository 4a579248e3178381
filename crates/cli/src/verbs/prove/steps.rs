//! Times, shows and records the steps of `prove`.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::prove::{Outcome, Step};
use root::Failure;
use std::time::{Duration, Instant};
use terminal::Volume;

/// The steps so far.
pub struct Steps {
    done: Vec<Step>,
    volume: Volume,
}

impl Steps {
    /// No step yet.
    pub fn new(volume: Volume) -> Steps {
        Steps {
            done: Vec::new(),
            volume,
        }
    }

    /// Runs one step and records its result.
    pub fn take<T, E: Into<Failure>>(
        &mut self,
        name: &str,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, Failure> {
        let began = Instant::now();
        let result = act().map_err(Into::into);
        let (outcome, detail) = match &result {
            Ok(_) => (Outcome::Done, String::new()),
            Err(error) => (Outcome::Failed, format!("{}: {}", error.what, error.why)),
        };
        self.note(name, outcome, detail, began.elapsed());
        result
    }

    /// Runs a measuring step with a progress bar. No thread draws the bar, because the sampler is forked from this process.
    pub fn measure<T, E: Into<Failure>>(
        &mut self,
        name: &str,
        planned: Duration,
        act: impl FnOnce(&ProgressBar) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let target = if self.volume > Volume::Quiet {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let millis = u64::try_from(planned.as_millis()).unwrap_or(u64::MAX);
        let bar = ProgressBar::with_draw_target(Some(millis), target);
        if let Ok(style) = ProgressStyle::with_template("  {prefix:<26} {bar:32} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        let result = self.take(name, || act(&bar));
        bar.finish_and_clear();
        result
    }

    /// Records a step that was not tried.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.note(name, Outcome::Skipped, why.to_owned(), Duration::ZERO);
    }

    /// All of them.
    pub fn into_steps(self) -> Vec<Step> {
        self.done
    }

    fn note(&mut self, name: &str, outcome: Outcome, detail: String, took: Duration) {
        let duration_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.done.push(Step {
            name: name.to_owned(),
            outcome,
            detail,
            duration_ns,
        });
    }
}
