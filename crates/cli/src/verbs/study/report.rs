//! `study report`: prints what the results in a directory show, on the screen or in another format.

use super::outcome_view;
use ::report::{STUDY_FORMS, StudyForm};
use experiment::{Directory, StudyOutcome};
use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `study report`.
#[derive(clap::Args)]
pub struct Args {
    /// The directory that `study run` made
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Also write it as one page that needs nothing else: every cell's distribution over the others, what each axis does
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write it as html, markdown, csv (every number of every run) or gnuplot (a script with its data) instead
    #[arg(long = "as", value_name = "FORM", value_parser = form, conflicts_with_all = ["json", "html"])]
    form: Option<StudyForm>,
    /// Write that to this file instead of to standard output
    #[arg(long, value_name = "PATH", requires = "form")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A directory of another study, one without a result, or a file that cannot be written: reported before anything is read.
pub fn run(args: &Args, _session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    for path in args.html.iter().chain(&args.out) {
        root::output::check(path)?;
    }
    let directory = Directory::existing(&args.dir)?;
    let outcome = StudyOutcome::of(&directory)?;
    if let Some(form) = args.form {
        let text = outcome_view::document(&outcome, form, args.out.as_deref());
        crate::deliver(&text, args.out.as_deref(), screen)?;
        return Ok(Status::Done);
    }
    if let Some(path) = &args.html {
        let [page, ..] = STUDY_FORMS;
        root::output::write(path, outcome_view::document(&outcome, page, Some(path)).as_bytes())?;
    }
    outcome_view::show(&outcome, screen);
    Ok(Status::Done)
}

fn form(name: &str) -> Result<StudyForm, String> {
    let found = STUDY_FORMS.iter().find(|form| form.name == name).copied();
    found.ok_or_else(|| {
        let line = |form: &StudyForm| format!("{}: {}", form.name, form.about);
        format!(
            "one of: {}",
            STUDY_FORMS.iter().map(line).collect::<Vec<_>>().join("; ")
        )
    })
}
