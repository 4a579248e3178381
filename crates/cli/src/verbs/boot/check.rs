//! `boot check`: for each parameter, whether it reached the kernel, was understood, and works.

use crate::reading::ReadingArgs;
use boot::{MachineTree, tuned};
use machine::{CpuSet, parse_duration};
use plan::boot_check::{Agreement, BootVerdict, CheckAnswer, ParameterCheck, ParameterOutcome, Truth};
use root::{Failure, Origin, Status};
use serde::Serialize;
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
    /// How long ticks and interrupts are counted
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    window: Duration,
}

#[derive(Serialize)]
struct BootCheckJson<'a> {
    schema: &'static str,
    verb: &'static str,
    origin: &'static str,
    running: &'a str,
    verdict: &'static str,
    parameters: &'a [ParameterCheck],
    declared: &'a [Agreement],
    unread: &'a [String],
    /// Other sources of words on the line.
    notes: &'a [String],
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
            WindowCounts::nothing("nothing can be counted on a captured machine; run it on the machine itself")
        }
        (true, true) => WindowCounts::nothing("the running line isolates no CPU that is online"),
        (true, false) => counting::count(session, requested, args.window),
    };
    let BootExamination { verdict, unread } = examine_boot(&scene, None, count)?;
    let words: Vec<String> = verdict.parameters.iter().map(|one| one.word.clone()).collect();
    let notes: Vec<String> = tuned(&MachineTree::of(scene.root))
        .and_then(|tuned| tuned.note(&words))
        .into_iter()
        .collect();
    let mut report_text = text(&verdict, &scene.running, &unread);
    notes
        .iter()
        .for_each(|note| report_text.push_str(&format!("note: {note}\n")));
    screen.text(&report::safe_lines(&report_text));
    screen.json(&BootCheckJson {
        schema: "quietcore.boot/1",
        verb: "check",
        origin: if is_live { "live" } else { "captured" },
        running: &scene.running,
        verdict: word(verdict.outcome),
        parameters: &verdict.parameters,
        declared: &verdict.declared,
        unread: &unread,
        notes: &notes,
    });
    Ok(status(verdict.outcome))
}

fn word(outcome: Option<ParameterOutcome>) -> &'static str {
    match outcome {
        None => "nothing",
        Some(ParameterOutcome::Works) => "works",
        Some(ParameterOutcome::Unknown) => "unknown",
        Some(ParameterOutcome::Pending) => "pending",
        Some(ParameterOutcome::Reverted) => "reverted",
        Some(ParameterOutcome::Broken) => "broken",
    }
}

fn status(outcome: Option<ParameterOutcome>) -> Status {
    match outcome {
        None | Some(ParameterOutcome::Works) => Status::Done,
        Some(ParameterOutcome::Unknown) => Status::Unable,
        Some(ParameterOutcome::Pending | ParameterOutcome::Reverted) => Status::Conflict,
        Some(ParameterOutcome::Broken) => Status::Failed,
    }
}

fn text(verdict: &BootVerdict, running: &str, unread: &[String]) -> String {
    let mut text = format!("running: {running}\n");
    for one in &verdict.parameters {
        let ours = if one.ours.is_some() { " (ours)" } else { "" };
        text.push_str(&format!("{}{ours}: {}\n", one.word, word(Some(one.outcome))));
        row(&mut text, "reached", &one.reached);
        row(&mut text, "understood", &one.understood);
        row(&mut text, "works", &one.works);
    }
    for one in &verdict.declared {
        let name = one
            .partition
            .as_ref()
            .map_or_else(|| "no partition".to_owned(), |name| format!("partition {name}"));
        text.push_str(&format!("/etc/quietcore.toml, {name}\n"));
        row(&mut text, "boot line", &one.answer);
        if let Some(answer) = &one.run_time {
            row(&mut text, "run time", answer);
        }
    }
    for line in unread {
        text.push_str(&format!("not read: {line}\n"));
    }
    text.push_str(match verdict.outcome {
        None => "No parameter on the running line isolates anything, and quietcore wrote none.\n",
        Some(ParameterOutcome::Works) if verdict.declared.is_empty() => {
            "Every parameter reached the kernel, was understood, and works as far as kernels show it.\n"
        }
        Some(ParameterOutcome::Works) => {
            "Every parameter reached the kernel, was understood, and works as far as kernels show it; what is declared is in \
             force.\n"
        }
        Some(ParameterOutcome::Unknown) => "Nothing is seen to be wrong, and not everything could be seen.\n",
        Some(ParameterOutcome::Pending) => "The next boot will have it: restart the machine, then ask again.\n",
        Some(ParameterOutcome::Reverted) => "This boot does not have what was written.\n",
        Some(ParameterOutcome::Broken) => "Not all of it works.\n",
    });
    text
}

fn row(text: &mut String, question: &str, answer: &CheckAnswer) {
    let truth = match answer.truth {
        Truth::Yes => "yes",
        Truth::No => "NO",
        Truth::Unknown => "unknown",
        Truth::Unseen => "unseen",
    };
    text.push_str(&format!("  {question:<11}{truth:<8}{}\n", answer.because));
}
