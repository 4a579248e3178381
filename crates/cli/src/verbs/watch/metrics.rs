//! `watch --metrics`: prints the current counters and findings once, for use without a daemon: by hand, or by cron with the
//! textfile collector.

use super::Args;
use ::terminal::Screen;
use daemon::metrics_text;
use root::{Failure, Status};
use session::Session;
use std::time::Duration;
use watch::metrics::Form;

/// The form on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FormWord {
    /// The older text format, which the textfile collector takes
    Text,
    /// OpenMetrics 1.0.0
    Openmetrics,
}

/// How long effects are counted for findings, without `--for`.
const WINDOW: Duration = Duration::from_secs(1);

/// Prints the metrics once.
///
/// # Errors
/// As `check`.
pub fn run(session: &Session, form: FormWord, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let form = match form {
        FormWord::Text => Form::Text,
        FormWord::Openmetrics => Form::OpenMetrics,
    };
    let window = args.duration.unwrap_or(WINDOW);
    screen.text(&metrics_text(session, args.cpus.as_deref(), window, form)?);
    Ok(Status::Done)
}
