//! `watch`: shows a live full-screen view of the CPUs, their interruptions and the findings of `check`; or plays a recording.
//!
//! Sampling, checking and drawing run on housekeeping CPUs, never on a watched CPU.

mod keyboard;
mod screen_loop;
mod sources;
mod terminal;
mod unit;

use ::terminal::{OutputFormat, Screen};
use machine::parse_duration;
use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use watch::metrics::ExpositionFormat as MetricsForm;

/// Arguments of `watch`.
#[derive(clap::Args)]
pub struct Args {
    /// The CPUs that should be left in peace, instead of those that `check` finds by itself
    #[arg(long, value_name = "LIST", conflicts_with = "play")]
    cpus: Option<String>,
    /// Time from one look at the counters to the next, 100ms to 1min
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every, conflicts_with = "play")]
    every: Duration,
    /// Write every moment to this file too; without a terminal nothing else is done
    #[arg(long, value_name = "FILE", conflicts_with = "play")]
    record: Option<PathBuf>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, conflicts_with = "play")]
    duration: Option<Duration>,
    /// Show what --record wrote instead of this machine
    #[arg(long, value_name = "FILE")]
    play: Option<PathBuf>,
    /// No screen: hear of changes, ask check again, and write what appears and goes to a log, with who did it where the
    /// kernel tells; alerts and more in the table [watch] of /etc/quietcore.toml
    #[arg(long, conflicts_with_all = ["play", "record", "every", "duration"])]
    daemon: bool,
    /// No screen: what is counted and found now, once, as text for Prometheus; --for says how long effects are counted
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text",
        conflicts_with_all = ["play", "record", "every", "daemon"])]
    metrics: Option<FormWord>,
    /// With --daemon: the log, one JSON object a line
    #[arg(
        long,
        value_name = "FILE",
        default_value = daemon::LOG,
        requires = "daemon"
    )]
    log: PathBuf,
    /// With --daemon: set again what is lost and safe to set, as `check --fix` does
    #[arg(long, requires = "daemon")]
    repair: bool,
    /// With --daemon: install a unit of systemd that starts it at boot, and end
    #[arg(long, requires = "daemon", conflicts_with_all = ["cpus", "log", "repair", "remove_unit"])]
    install_unit: bool,
    /// With --daemon: remove what --install-unit installed, and end
    #[arg(long, requires = "daemon", conflicts_with_all = ["cpus", "log", "repair"])]
    remove_unit: bool,
}

/// The form on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormWord {
    /// The older text format, which the textfile collector takes
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
            Err("more than ten looks a second would be a disturbance of their own".to_owned())
        }
        time if time > Duration::from_secs(60) => Err("one look a minute is the least".to_owned()),
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
    if screen.form == OutputFormat::Json {
        return Err(Failure::usage(
            "`watch` has no JSON of its own",
            "it draws, records, logs or gives metrics, each in a form that is fixed",
            "`quietcore check --json` says what is found; `quietcore watch --record FILE` and `--daemon --log FILE` write \
             JSON lines",
        ));
    }
    if args.record.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Failure::usage(
            "a recording needs a file",
            "`-` is the name of none, and a recording continues until it is ended",
            "name a file; `--record ./-` is one of that name",
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
    screen.text(&daemon::metrics_text(session, args.cpus.as_deref(), window, form)?);
    Ok(Status::Done)
}
