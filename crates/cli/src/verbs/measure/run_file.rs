//! `measure run FILE`: runs a description from a file: samplers, built-in loads, programs, and the output of statistics.

use crate::page_args::PageArgs;
use experiment::{DescribedEnd, DescribedRun, RunDisplay};
use measure::NoteLevel;
use root::{Failure, Status};
use session::Session;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `measure run`.
#[derive(clap::Args)]
pub struct Args {
    /// The description: TOML, or a configuration file of systress
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the result to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub page: PageArgs,
    /// Check the description on this machine, print what would run, and start nothing
    #[arg(long, alias = "check")]
    pub dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// A description that is wrong or impossible here, files that cannot be written, or a failed measurement.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let run = DescribedRun::read(&args.file, session)?;
    if args.dry_run {
        screen.text(&run.text());
        return Ok(Status::Done);
    }
    let result_file = args.page.result_file(args.out.as_deref())?;
    run.check_outputs(&args.file)?;
    let mut display = RunDisplay::new(&run, session.root());
    let mut lines = 0;
    let is_terminal = std::io::stdout().is_terminal();
    let result = run.run(session, result_file.as_ref(), &mut |progress| {
        display.update(progress);
        if is_terminal && let Some(text) = display.next_text() {
            draw(&text, &mut lines, screen);
        }
    })?;
    let text = display.final_text(&result.measurement);
    draw(&format!("{text}\n"), &mut lines, screen);
    let mut status = Status::Done;
    for written in run.write_statistics(&result) {
        match written {
            Ok((sampler, file)) => screen.text(&report::systress_statistics(&sampler.name.value, file)),
            Err(error) => status = screen.error(&error),
        }
    }
    screen.text(&format!("\n{}", report::systress_elapsed(result.elapsed)));
    screen.text(&result.programs_text());
    let measurement = &result.measurement;
    if run.is_systress() {
        let findings = measurement.findings.iter();
        for finding in findings.filter(|finding| finding.level != NoteLevel::Info) {
            screen.note(&format!("{}: {}\n", finding.subject, finding.message));
        }
    } else {
        let text = report::measurement_text(measurement, report::Histograms::Drawn, screen.style());
        screen.text(&format!("\n{text}"));
    }
    screen.json(measurement);
    if let Some(result_file) = &result_file {
        result_file.end(measurement)?;
    }
    if result.end == DescribedEnd::Interrupted {
        screen.note(super::INTERRUPTED);
    }
    Ok(match status {
        Status::Done => super::status(measurement),
        status => status,
    })
}

/// Draws a text over the former one, which had so many lines.
fn draw(text: &str, lines: &mut usize, screen: &mut Screen) {
    if *lines > 0 {
        screen.rewind(*lines);
    }
    screen.text(text);
    *lines = text.lines().count();
}
