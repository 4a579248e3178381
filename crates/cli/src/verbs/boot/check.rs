//! `boot check`: for each parameter, whether it reached the kernel, was understood, and works.

use crate::reading::ReadingArgs;
use boot::{MachineTree, tuned};
use machine::{CpuSet, parse_duration};
use plan::boot_check::ParameterOutcome;
use report::{BOOT_SCHEMA, BootCheckJson, boot_check_text, boot_check_verdict, boot_outcome};
use root::{Failure, Origin, Status};
use session::Session;
use session::boot_files::BootScene;
use std::time::Duration;
use terminal::Screen;
use verify::boot_verdict::{BootExamination, examine_boot};
use verify::counting::{self, WindowCounts};

/// Arguments of `boot check`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,
    /// How long to count ticks and interrupts
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    window: Duration,
}

/// Runs the command.
///
/// # Errors
/// A captured machine that cannot be opened, or a journal or declaration file that cannot be parsed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.reading.open(session)?;
    let is_live = session.root().origin() == Origin::Live;
    let scene = BootScene::read(session)?;
    let count = |requested: &CpuSet| match (is_live, requested.is_empty()) {
        (false, _) => {
            WindowCounts::nothing("counters cannot be measured on a captured machine; run this on the machine itself")
        }
        (true, true) => WindowCounts::nothing("the running line isolates no online CPU"),
        (true, false) => counting::count(session, requested, args.window),
    };
    let BootExamination { verdict, unread } = examine_boot(&scene, None, count)?;
    let words: Vec<String> = verdict.parameters.iter().map(|one| one.word.clone()).collect();
    let notes: Vec<String> = tuned(&MachineTree::of(scene.root))
        .and_then(|tuned| tuned.note(&words))
        .into_iter()
        .collect();
    let mut report_text = boot_check_text(&verdict, &scene.running, &unread);
    notes
        .iter()
        .for_each(|note| report_text.push_str(&format!("note: {note}\n")));
    screen.report(&boot_check_verdict(&verdict), &report::safe_lines(&report_text));
    screen.json(&BootCheckJson {
        schema: BOOT_SCHEMA,
        verb: "check",
        origin: if is_live { "live" } else { "captured" },
        running: &scene.running,
        verdict: boot_outcome(verdict.outcome),
        parameters: &verdict.parameters,
        declared: &verdict.declared,
        unread: &unread,
        notes: &notes,
    });
    Ok(status(verdict.outcome))
}

fn status(outcome: Option<ParameterOutcome>) -> Status {
    match outcome {
        None | Some(ParameterOutcome::Works) => Status::Done,
        Some(ParameterOutcome::Unknown) => Status::Unable,
        Some(ParameterOutcome::Pending | ParameterOutcome::Reverted) => Status::Conflict,
        Some(ParameterOutcome::Broken) => Status::Failed,
    }
}
