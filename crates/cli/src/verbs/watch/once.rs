//! `watch --metrics`: prints the current counters and findings once, for use without a daemon: by hand, or by cron with the
//! textfile collector.

use super::Args;
use super::asked::Asking;
use ::terminal::Screen;
use daemon::{kept, once};
use observe::Sample;
use root::{Failure, Status};
use session::Session;
use std::time::Duration;
use watch::metrics::{Form, Totals, exposition};

/// The form on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Written {
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
pub fn run(session: &Session, written: Written, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let looked = Asking {
        cpus: args.cpus.clone(),
    }
    .look(session, args.duration.unwrap_or(WINDOW))?;
    let standing = looked.found.iter().map(kept).collect();
    let known = once(&looked.machine, &looked.intention, standing);
    let root = session.root();
    let mut totals = Totals::default();
    totals.add(&Sample::take(root), observe::timeslices(root), &known.cpus());
    let form = match written {
        Written::Text => Form::Text,
        Written::Openmetrics => Form::OpenMetrics,
    };
    screen.text(&exposition(form, &known, &totals, session::seconds_now()));
    Ok(Status::Done)
}
