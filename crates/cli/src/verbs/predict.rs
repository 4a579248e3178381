//! `predict`: what each change would gain, before it is made.

use crate::intent::ProfileWord;
use crate::reading::ReadingArgs;
use investigate::{BlameStage, PredictionReport, PredictionWatch, predict_recording, predict_watch};
use machine::parse_duration;
use predict::ChangeSelection;
use report::{PREDICT_SCHEMA, PredictionDocument, findings_text, prediction_text, prediction_verdict};
use root::{Failure, Status};
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use terminal::{ProgressBar, Screen};

/// Arguments of `predict`.
#[derive(clap::Args)]
pub struct Args {
    /// Predict from this file of `blame --gaps`, instead of watching now
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cpus", "duration"])]
    from: Option<PathBuf>,
    /// CPUs to watch [default: the isolated ones, or the core that `plan` would choose]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// How long to watch; rare interruptions need a longer watch
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, default_value = "30s")]
    duration: Duration,
    /// Predict only this profile; with --boot, also the boot line
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileWord>,
    /// Predict only the boot line; with --profile, also the profile
    #[arg(long)]
    boot: bool,
    /// Read a captured machine: a directory or an archive (see `quietcore snapshot`)
    #[arg(long, value_name = "PATH", requires = "from")]
    root: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let root = args.root.clone();
    let session = &*ReadingArgs { root }.open(session)?;
    let selection = match (args.profile, args.boot) {
        (None, false) => ChangeSelection::Each,
        (profile, boot) => ChangeSelection::Only {
            profile: profile.map(Into::into),
            boot,
        },
    };
    let report = match &args.from {
        Some(path) => predict_recording(path, session, selection)?,
        None => watch(args, session, selection, screen)?,
    };
    screen.json(&PredictionDocument {
        schema: PREDICT_SCHEMA,
        environment: &report.environment,
        prediction: &report.prediction,
        findings: &report.findings,
    });
    let text = prediction_text(&report.prediction, screen.style());
    screen.report(&prediction_verdict(&report.prediction), &text);
    screen.text(&findings_text(&report.findings, screen.detail(), screen.style()));
    report.notes.iter().for_each(|note| screen.note(note));
    Ok(report.status)
}

/// Watches now.
fn watch(
    args: &Args,
    session: &Session,
    selection: ChangeSelection,
    screen: &Screen,
) -> Result<PredictionReport, Failure> {
    let watch = PredictionWatch {
        cpus: args.cpus.clone(),
        duration: args.duration,
        policy: None,
    };
    let bar = ProgressBar::new(screen);
    predict_watch(&watch, session, selection, &mut |stage| match stage {
        BlameStage::Started(_) => {}
        BlameStage::Measuring(progress) => bar.show(progress),
        BlameStage::Measured => bar.clear(),
    })
}
