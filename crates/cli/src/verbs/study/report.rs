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
    /// Also write the answer to this file as an HTML page, with the distributions of all cells
    #[arg(long, alias = "html", value_name = "FILE")]
    page: Option<PathBuf>,
    /// Print in another format: html, markdown, csv (all numbers) or gnuplot (script and data)
    #[arg(long = "format", alias = "as", value_name = "FORMAT", value_parser = form, conflicts_with_all = ["json", "page"])]
    form: Option<StudyForm>,
    /// With --format: write to this file instead of standard output
    #[arg(long, value_name = "FILE", requires = "form")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A directory of another study, one without a result, or a file that cannot be written: reported before anything is read.
pub fn run(args: &Args, _session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    for path in args.page.iter().chain(&args.out) {
        root::output::check(path)?;
    }
    let directory = Directory::existing(&args.dir)?;
    let outcome = StudyOutcome::of(&directory)?;
    if let Some(form) = args.form {
        let text = experiment::outcome_document(&outcome, form, args.out.as_deref());
        crate::deliver(&text, args.out.as_deref(), screen)?;
        return Ok(Status::Done);
    }
    if let Some(path) = &args.page {
        let [page, ..] = STUDY_FORMS;
        root::output::write(
            path,
            experiment::outcome_document(&outcome, page, Some(path)).as_bytes(),
        )?;
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
