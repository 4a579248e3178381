//! `prove`: measures, isolates, measures again under load, shows what still arrived, undoes, verifies and reports.

use crate::intent::IntentArgs;
use crate::page_args::PageArgs;
use experiment::ResultFile;
use experiment::prove::{MeasurementProgress, ProveOptions, prove};
use measure::Progress;
use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use terminal::{ProgressBar, Screen};

/// Arguments of `prove`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: IntentArgs,
    /// How long to measure or watch, each of the five times
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = machine::parse_duration)]
    duration: Duration,
    /// Write the result to this file as JSON
    #[arg(long, value_name = "FILE", default_value = "prove.json")]
    out: PathBuf,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs the command.
///
/// # Errors
/// Wrong usage, and result files that cannot be written. Steps that the machine does not allow are part of the report.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let stop = session::stop_flag();
    if args.duration < Duration::from_millis(100) {
        return Err(Failure::usage(
            "--for is too short",
            "nothing can be measured in less than 100ms",
            "use 5s",
        ));
    }
    // Before anything else: an error about a missing directory must not come after half a minute.
    let result_file = args.page.result_file(Some(&args.out))?;
    let machine = session.machine().for_plan(session.root());
    let (intent, plan) = args.wanted.plan(session, &machine)?;
    let options = ProveOptions {
        machine: &machine,
        intent: &intent,
        plan: &plan,
        expression: args.wanted.cpus.as_deref(),
        each: args.duration,
        stop,
    };
    let story = prove(session, &options, &mut Bar { screen, bar: None });
    let json = story
        .json()
        .map_err(|error| Failure::bug("the result cannot be written as JSON", error.to_string()))?;
    root::output::write(&args.out, &json)?;
    let page = result_file.as_ref().and_then(ResultFile::page);
    if let Some(page) = page {
        root::output::write(page, report::prove::prove_html(&story).as_bytes())?;
    }
    screen.json(&story);
    screen.text(&report::prove::prove_text(&story, screen.style()));
    screen.text(&match page {
        Some(page) => format!("\nThe page: {}   the numbers: {}\n", page.display(), args.out.display()),
        None => format!(
            "\nThe numbers: {}   (--page writes them as a page)\n",
            args.out.display()
        ),
    });
    Ok(Status::Program(story.exit_status))
}

/// The progress bar of the measurement that runs.
struct Bar<'a> {
    screen: &'a Screen,
    bar: Option<ProgressBar>,
}

impl MeasurementProgress for Bar<'_> {
    fn start(&mut self, name: &str) {
        self.bar = Some(ProgressBar::named(name, self.screen));
    }

    fn show(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.show(progress);
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.clear();
        }
    }
}
