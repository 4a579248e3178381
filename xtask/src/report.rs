//! Reports what a command checked and how long it took: stages, the slowest tests and guests, one closing line.

use crate::error::{TaskResult, XtaskError, target_dir};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum number of slow tests and guests in the list.
const SLOWEST: usize = 10;

/// Totals of all checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckTotals {
    /// Checks that passed.
    pub passed: usize,
    /// Checks that failed.
    pub failed: usize,
    /// Checks that could not run on this machine. The reason was printed.
    pub skipped: usize,
    /// Failed lab scenarios that passed when they ran alone. Each was printed.
    pub unstable: usize,
}

impl CheckTotals {
    /// Adds other totals.
    pub fn add(&mut self, other: CheckTotals) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unstable += other.unstable;
    }

    /// The summary line, in the format that test-counting programs look for.
    #[must_use]
    pub fn line(self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }

    /// Formats the totals for [`CheckTotals::parse`].
    fn record(self) -> String {
        format!("{} {} {} {}", self.passed, self.failed, self.skipped, self.unstable)
    }

    /// Parses the output of [`CheckTotals::record`].
    fn parse(record: &str) -> Option<CheckTotals> {
        let numbers: Result<Vec<usize>, _> = record.split_whitespace().map(str::parse).collect();
        let [passed, failed, skipped, unstable] = numbers.ok()?.try_into().ok()?;
        Some(CheckTotals {
            passed,
            failed,
            skipped,
            unstable,
        })
    }
}

/// Collects the results and the times of a command's stages.
#[derive(Debug)]
pub struct TaskReport {
    totals: CheckTotals,
    stages: Vec<(String, Duration)>,
    times: Vec<(String, Duration)>,
    started: Instant,
}

impl Default for TaskReport {
    fn default() -> TaskReport {
        TaskReport {
            totals: CheckTotals::default(),
            stages: Vec::new(),
            times: Vec::new(),
            started: Instant::now(),
        }
    }
}

impl TaskReport {
    /// A report whose first stage is what the Makefile did before: `QUIETCORE_STARTED` is its start, in seconds since
    /// 1970.
    #[must_use]
    pub fn since_make() -> TaskReport {
        let mut report = TaskReport::default();
        let started = std::env::var("QUIETCORE_STARTED").ok();
        let started = started.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let before = started.and_then(|at| SystemTime::now().duration_since(UNIX_EPOCH + at).ok());
        if let Some(before) = before {
            report.started = Instant::now().checked_sub(before).unwrap_or(report.started);
            report.stages.push(("setup, building xtask".to_owned(), before));
        }
        report
    }

    /// Runs a stage and adds its time and its totals.
    ///
    /// # Errors
    /// The errors of the stage.
    pub fn stage(&mut self, name: &str, run: impl FnOnce(&mut TaskReport) -> TaskResult<CheckTotals>) -> TaskResult {
        let totals = self.timed(name, run)?;
        self.totals.add(totals);
        Ok(())
    }

    /// Runs a stage that checks nothing and adds its time.
    ///
    /// # Errors
    /// The errors of the stage.
    pub fn timed<T>(&mut self, name: &str, run: impl FnOnce(&mut TaskReport) -> TaskResult<T>) -> TaskResult<T> {
        let started = Instant::now();
        let result = run(self);
        self.stages.push((name.to_owned(), started.elapsed()));
        result
    }

    /// Adds the time of one test or guest.
    pub fn add_time(&mut self, name: String, time: Duration) {
        self.times.push((name, time));
    }

    /// Adds the totals that another command saved with [`TaskReport::save`].
    ///
    /// # Errors
    /// [`XtaskError`] when no totals are saved.
    pub fn add_saved(&mut self) -> TaskResult {
        let path = saved_file()?;
        let text = std::fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
        let totals = CheckTotals::parse(&text).ok_or_else(|| XtaskError::Program {
            program: path.display().to_string(),
            why: "no sums in it; run `make test` first".to_owned(),
        })?;
        self.totals.add(totals);
        Ok(())
    }

    /// Removes the totals that an earlier command saved.
    ///
    /// # Errors
    /// [`XtaskError`] when they cannot be removed.
    pub fn remove_saved() -> TaskResult {
        let path = saved_file()?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(XtaskError::file(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Saves the totals for [`TaskReport::add_saved`].
    ///
    /// # Errors
    /// [`XtaskError`] when the file cannot be written.
    pub fn save(&self) -> TaskResult {
        let path = saved_file()?;
        std::fs::write(&path, self.totals.record()).map_err(XtaskError::file(&path))
    }

    /// Prints the times and the closing line. `result` is the result of the stages: an aborted stage counts as a
    /// failure.
    ///
    /// # Errors
    /// [`XtaskError::Failed`] when anything failed, or nothing was checked.
    pub fn close(mut self, result: TaskResult) -> TaskResult {
        if let Err(error) = result {
            println!("FAIL  {error}");
            self.totals.failed += 1;
        }
        println!("\nstages:");
        for (name, time) in &self.stages {
            println!("{:>8.1} s  {name}", time.as_secs_f64());
        }
        println!("{:>8.1} s  all", self.started.elapsed().as_secs_f64());
        self.times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        if !self.times.is_empty() {
            println!("slowest:");
        }
        for (name, time) in self.times.iter().take(SLOWEST) {
            println!("{:>8.1} s  {name}", time.as_secs_f64());
        }
        if self.totals.unstable > 0 {
            println!(
                "unstable: {} of the failed passed when they ran alone",
                self.totals.unstable
            );
        }
        println!("{}", self.totals.line());
        if self.totals.failed == 0 && self.totals.passed > 0 {
            Ok(())
        } else {
            Err(XtaskError::Failed)
        }
    }
}

/// The file that keeps the totals of `make test` for the rest of `make test-all`.
fn saved_file() -> TaskResult<PathBuf> {
    let dir = target_dir().join("test-logs");
    std::fs::create_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    Ok(dir.join("sums"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_has_the_usual_form() {
        let totals = CheckTotals {
            passed: 3,
            skipped: 2,
            ..CheckTotals::default()
        };
        assert_eq!(totals.line(), "3 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn only_saved_totals_are_read_back() {
        let totals = CheckTotals {
            passed: 3,
            failed: 1,
            skipped: 2,
            unstable: 4,
        };
        assert_eq!(CheckTotals::parse(&totals.record()), Some(totals));
        assert_eq!(CheckTotals::parse("1 2 3"), None);
        assert_eq!(CheckTotals::parse(&totals.line()), None);
    }

    #[test]
    fn a_failed_or_empty_run_does_not_succeed() {
        let closed = |passed, failed| {
            let mut report = TaskReport::default();
            let totals = CheckTotals {
                passed,
                failed,
                ..CheckTotals::default()
            };
            let result = report.stage("one", |_| Ok(totals));
            report.close(result).is_ok()
        };
        assert!(closed(1, 0));
        assert!(!closed(1, 1));
        assert!(!closed(0, 0));
        let mut broken_off = TaskReport::default();
        broken_off.totals.passed = 1;
        assert!(broken_off.close(Err(XtaskError::Failed)).is_err());
    }
}
