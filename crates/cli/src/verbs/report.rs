//! `report`: prints a result of any measuring tool as text, as JSON, or in another tool's format.

use crate::foreign::{ForeignFormatArg, written_as};
use formats::Recording;
use root::{Failure, Status};
use session::{Session, read_recording};
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `report`.
#[derive(clap::Args)]
pub struct Args {
    /// The result of any measuring tool; `-` is standard input
    ///
    /// Of quietcore (also a file of --gaps), cyclictest, oslat, sysjitter, rtla (hist and top), jitterdebugger, systress,
    /// stress-ng, hwlat, hwlatdetect, or an HdrHistogram log or percentile table (.hgrm). The format is detected from the content.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print in another format: html, or that of another tool; an unknown word lists the formats
    ///
    /// html needs a result of quietcore.
    #[arg(long = "format", alias = "as", value_name = "FORMAT", value_parser = form, conflicts_with = "json")]
    format: Option<ReportOutput>,
    /// With --format: write to this file instead of standard output
    #[arg(long, value_name = "FILE", requires = "format")]
    out: Option<PathBuf>,
}

/// The output format.
#[derive(Clone, Copy)]
enum ReportOutput {
    Page,
    As(ForeignFormatArg),
}

/// Runs the command.
pub fn run(args: &Args, _session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let recording = read_recording(&args.file)?;
    let name = args.file.display().to_string();
    let Some(format) = args.format else {
        screen.json(&report::recording_json(&name, &recording));
        screen.text(&report::recording_text(&recording, screen.style()));
        return Ok(Status::Done);
    };
    let (text, left_out) = match format {
        ReportOutput::As(format) => format.write(&recording),
        ReportOutput::Page => (page(&name, &recording)?, None),
    };
    crate::deliver(&text, args.out.as_deref(), screen)?;
    for note in recording
        .notes
        .iter()
        .filter(|note| note.level < measure::NoteLevel::Info)
    {
        let (subject, message) = (report::safe(&note.subject), report::safe(&note.message));
        screen.note(&format!("{subject}: {message}\n"));
    }
    if let Some(left_out) = left_out {
        screen.note(&format!("{left_out}\n"));
    }
    Ok(Status::Done)
}

fn page(name: &str, recording: &Recording) -> Result<String, Failure> {
    let Some(own) = &recording.own else {
        return Err(Failure::usage(
            format!("{} has no page", report::safe(name)),
            "only results that quietcore measured have a page",
            "leave out --format html, or use --format gnuplot for a drawing",
        ));
    };
    Ok(report::measurement_html(own, name))
}

fn form(name: &str) -> Result<ReportOutput, String> {
    match name {
        "html" => Ok(ReportOutput::Page),
        _ => written_as(name)
            .map(ReportOutput::As)
            .map_err(|names| format!("{names}, html")),
    }
}
