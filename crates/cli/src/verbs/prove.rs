//! `prove`: measures, isolates, measures again under load, shows what still arrived, undoes, verifies and reports.

use crate::intent::IntentArgs;
use crate::progress_bar::ProgressBar;
use experiment::ResultFile;
use experiment::prove::{MeasurementProgress, ProveOptions, prove};
use measure::Progress;
use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use terminal::Screen;

/// Arguments of `prove`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: IntentArgs,
    /// How long each of the four measurements takes
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = machine::parse_duration)]
    duration: Duration,
    /// Where the result goes; the page goes beside it as .html
    #[arg(long, value_name = "FILE", default_value = "prove.json")]
    out: PathBuf,
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
            "nothing can be seen in less than 100ms",
            "use 5s",
        ));
    }
    // Before anything else: an error about a missing directory must not come after half a minute.
    let result_file = ResultFile::at(&args.out)?;
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
        .map_err(|error| Failure::bug("the result is no JSON", error.to_string()))?;
    root::output::write(&args.out, &json)?;
    if let Some(page) = result_file.page() {
        root::output::write(page, report::prove::prove_html(&story).as_bytes())?;
    }
    screen.json(&story);
    screen.text(&report::prove::prove_text(&story, screen.style()));
    let page = result_file
        .page()
        .map(|page| format!("The page: {}   ", page.display()));
    screen.text(&format!(
        "\n{}the numbers: {}\n",
        page.unwrap_or_default(),
        args.out.display()
    ));
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
