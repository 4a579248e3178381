//! `plan`: prints every change that an isolation needs, before anything is done, as data or in formats of other tools.

use crate::intent::IntentArgs;
use crate::plans;
use crate::reading::ReadingArgs;
use clap::builder::PossibleValuesParser;
use report::export::{EXPORTS, ExportForm, ExportSubject, ExportedFile, export_json, export_text};
use root::output::NewFile;
use root::{Failure, Status};
use session::Session;
use std::path::{Path, PathBuf};
use terminal::Screen;

/// Arguments of `plan`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: IntentArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    /// Plan the partitions that this file declares [default without CPUs: /etc/quietcore.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the plan as files of another tool that do the same
    #[arg(conflicts_with = "in_place", long, alias = "export", value_name = "FORMAT", value_parser = forms())]
    format: Option<String>,
    /// With --format: write the files below this directory; existing files are never overwritten
    #[arg(long, alias = "export-to", value_name = "DIR", requires = "format")]
    out: Option<PathBuf>,
}

fn forms() -> PossibleValuesParser {
    PossibleValuesParser::new(
        EXPORTS
            .iter()
            .map(|form| clap::builder::PossibleValue::new(form.name).help(form.about)),
    )
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.reading.open(session)?;
    let root = session.root();
    let machine = session.machine().for_plan(root);
    let declared = args.wanted.declared(session, args.config.as_deref())?;
    let mut plans = match &declared {
        Some(file) => file.plan_all(session, &machine)?,
        None => vec![args.wanted.plan(session, &machine)?],
    };
    if plans.len() != 1 && args.format.is_none() {
        plans::show(session, &plans, &[], screen)?;
        return Ok(Status::Done);
    }
    let one = plans.pop().filter(|_| plans.is_empty());
    let planned = one.ok_or_else(|| {
        Failure::usage(
            "one plan can be exported at a time",
            "the file does not declare exactly one partition",
            "choose one with --partition NAME",
        )
    })?;
    let form = EXPORTS.iter().find(|form| args.format.as_deref() == Some(form.name));
    if let Some(form) = form {
        let (intent, plan) = &planned;
        let subject = ExportSubject {
            plan,
            intent,
            machine: &machine,
        };
        return export(form, &subject, args.out.as_deref(), screen);
    }
    plans::show_one(session, &planned, screen);
    Ok(Status::Done)
}

fn export(
    form: &ExportForm,
    subject: &ExportSubject,
    folder: Option<&Path>,
    screen: &mut Screen,
) -> Result<Status, Failure> {
    let files = (form.write)(subject).map_err(|unfit| {
        let what = format!("this plan cannot be exported as {}", form.name);
        Failure::new(Status::Unable, what, unfit.why, unfit.next)
    })?;
    if let Some(folder) = folder {
        let paths: Vec<PathBuf> = files
            .iter()
            .map(|file| folder.join(file.path.trim_start_matches('/')))
            .collect();
        write(&paths, &files)?;
        let written: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
        screen.text(&written);
    } else {
        screen.document(&export_text(&files));
    }
    screen.json(&export_json(form, &files));
    Ok(Status::Done)
}

fn write(paths: &[PathBuf], files: &[ExportedFile]) -> Result<(), Failure> {
    let new: Vec<NewFile> = paths
        .iter()
        .zip(files)
        .map(|(path, file)| NewFile {
            path,
            mode: file.mode,
            content: file.content.as_bytes(),
        })
        .collect();
    root::output::write_new(&new).map_err(|error| match error.errno() {
        Some(libc::EEXIST) => Failure::new(
            Status::Conflict,
            "nothing was written",
            error.to_string(),
            "choose another directory, or move the file away",
        ),
        _ => error.into(),
    })
}
