//! `measure run FILE`: runs a description from a file: samplers, built-in loads, programs, and the output of statistics.

mod conduct;
mod display;
mod settle;
mod statistics;

use crate::result_file::ResultFile;
use measure::configuration::{self, Configuration, Form};
use root::{Failure, Status, input, output};
use session::Session;
use std::path::{Path, PathBuf};
use terminal::Screen;

/// Arguments of `measure run`.
#[derive(clap::Args)]
pub struct Args {
    /// The description: TOML, or a configuration file of systress
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the result to this file as JSON, and its page beside it (FILE with the ending .html)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Read the description, settle it on this machine, say what would run, and start nothing
    #[arg(long)]
    pub check: bool,
}

/// Runs the command.
///
/// # Errors
/// A description that is wrong or impossible here, files that cannot be written, or a failed measurement.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let described = read(&args.file)?;
    for note in &described.notes {
        screen.note(&format!("note: {note}\n"));
    }
    let machine = session.machine();
    let settled = settle::settle(&described, &args.file, &machine)?;
    if args.check {
        screen.text(&conduct::intended(&described, &settled));
        return Ok(Status::Done);
    }
    let kept = args.out.as_deref().map(ResultFile::at).transpose()?;
    for file in described
        .samplers
        .iter()
        .filter_map(|sampler| sampler.file.as_deref())
    {
        output::check(file).map_err(|error| unwritable(&args.file, file, &error))?;
    }
    conduct::conduct(session, &described, settled, &machine, kept.as_ref(), screen)
}

fn read(file: &Path) -> Result<Configuration, Failure> {
    let bytes = input::bytes(file, configuration::MOST_BYTES as u64).map_err(|error| Failure {
        status: Status::Usage,
        next: "name the file that describes the run".to_owned(),
        ..error.into()
    })?;
    configuration::parse(&bytes).map_err(|error| settle::refused(file, &error))
}

fn unwritable(description: &Path, file: &Path, error: &root::RootError) -> Failure {
    Failure::usage(
        format!("the statistics of {} have no place", description.display()),
        error.to_string(),
        format!("name another file than {}, or make its folder", file.display()),
    )
}

/// Whether systress's screen is used.
fn is_systress(described: &Configuration) -> bool {
    described.form == Form::Systress
}
