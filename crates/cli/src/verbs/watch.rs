//! `watch`: shows a live full-screen view of the CPUs, their interruptions and the findings of `check`; or plays a recording.
//!
//! Sampling, checking and drawing run on housekeeping CPUs, never on a watched CPU.

mod keyboard;
mod screen_loop;
mod sources;
mod terminal;
pub(crate) mod unit;

use ::terminal::Screen;
use machine::parse_duration;
use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use watch::metrics::ExpositionFormat as MetricsForm;

/// The heading of options in the help.
const DAEMON: &str = "Daemon and metrics";

/// Arguments of `watch`.
#[derive(clap::Args)]
pub struct Args {
    /// CPUs to watch [default: those that `check` finds]
    #[arg(long, value_name = "CPUS", conflicts_with = "play")]
    cpus: Option<String>,
    /// Interval between two samples, 100ms to 1min
    #[arg(long = "interval", alias = "every", value_name = "TIME", default_value = "1s", value_parser = every, conflicts_with = "play")]
    every: Duration,
    /// Also record every sample to this file; without a terminal, only record
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    record: Option<PathBuf>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, conflicts_with = "play")]
    duration: Option<Duration>,
    /// Play a recording of --record instead of watching this machine
    #[arg(long, value_name = "FILE")]
    play: Option<PathBuf>,
    /// Run as a daemon: check after each change, and log findings that appear and disappear
    ///
    /// The log names the process that made a change, where the kernel reports it. The table [watch] of /etc/quietcore.toml
    /// configures alerts, metrics and repairs.
    #[arg(long, help_heading = DAEMON, conflicts_with_all = ["play", "record", "every", "duration"])]
    daemon: bool,
    /// Print the current metrics once, as text for Prometheus; --for says how long to count
    #[arg(long, value_name = "FORMAT", help_heading = DAEMON, num_args = 0..=1, require_equals = true, default_missing_value = "text",
        conflicts_with_all = ["play", "record", "every", "daemon"])]
    metrics: Option<FormWord>,
    /// With --daemon: the log, one JSON object per line
    #[arg(
        long,
        help_heading = DAEMON,
        value_name = "FILE",
        default_value = daemon::LOG,
        requires = "daemon"
    )]
    log: PathBuf,
    /// With --daemon: repair what was lost and is safe to set, as `check --fix` does
    #[arg(long, help_heading = DAEMON, requires = "daemon")]
    repair: bool,
    /// With --daemon: install a systemd unit that starts the daemon at boot, and exit
    #[arg(long, help_heading = DAEMON, requires = "daemon", conflicts_with_all = ["cpus", "log", "repair", "remove_unit"])]
    install_unit: bool,
    /// With --daemon: remove what --install-unit installed, and exit
    #[arg(long, help_heading = DAEMON, requires = "daemon", conflicts_with_all = ["cpus", "log", "repair"])]
    remove_unit: bool,
}

/// The form on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormWord {
    /// The older text format, which the textfile collector reads
    Text,
    /// OpenMetrics 1.0.0
    Openmetrics,
}

/// How long effects are counted for findings, without `--for`.
const WINDOW: Duration = Duration::from_secs(1);

fn every(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    match time {
        time if time < Duration::from_millis(100) => {
            Err("more than ten samples per second would disturb the CPUs".to_owned())
        }
        time if time > Duration::from_secs(60) => Err("the minimum is one sample per minute".to_owned()),
        time => Ok(time),
    }
}

/// Runs the command.
///
/// # Errors
/// No terminal, a recording that cannot be read or written, or something essential for `check` is missing.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    if args.install_unit {
        return unit::place(session, screen);
    }
    if args.remove_unit {
        return unit::remove(session, screen);
    }
    screen.refuse_json(
        "watch",
        "it draws, records, logs or serves metrics, each in a fixed form",
        "`quietcore check --json` reports findings; `quietcore watch --record FILE` and `--daemon --log FILE` write \
         JSON lines",
    )?;
    if args.record.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Failure::usage(
            "a recording needs a file",
            "`-` is not a file name, and a recording continues until you stop it",
            "choose a file; `--record ./-` writes to a file named `-`",
        ));
    }
    if args.daemon {
        let options = daemon::DaemonOptions {
            cpus: args.cpus.clone(),
            log: args.log.clone(),
            repair: args.repair,
        };
        return daemon::run(&options, session).map(|()| Status::Done);
    }
    if let Some(form) = args.metrics {
        return metrics(session, form, args, screen);
    }
    match (&args.play, terminal::refusal()) {
        (Some(file), _) => sources::play(file, screen),
        (None, None) => sources::show_live(args, session, screen),
        (None, Some(_)) if args.record.is_some() => sources::record_only(session, args, screen),
        (None, Some(refusal)) => Err(refusal),
    }
}

/// Prints the current counters and findings once, for use without a daemon: by hand, or by cron with the textfile collector.
fn metrics(session: &Session, form: FormWord, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let form = match form {
        FormWord::Text => MetricsForm::Text,
        FormWord::Openmetrics => MetricsForm::OpenMetrics,
    };
    let window = args.duration.unwrap_or(WINDOW);
    screen.document(&daemon::metrics_text(session, args.cpus.as_deref(), window, form)?);
    Ok(Status::Done)
}
