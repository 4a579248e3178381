//! `boot confirm`: after a good boot of the trial entry, moves its words to the default line and removes the entry.

use super::nothing_to_confirm;
use apply::DurableStorage;
use apply::boot_line::note_state;
use boot::{
    BootSinceWrite, EditedTree, EveryBoot, FallbackRequirement, LOADERS, MARK, MachineTree, RecordedWords, clear,
    missing_words, set,
};
use machine::cmdline::BootWordStage;
use report::{ChangeMode, ChangeView};
use root::{Failure, Status};
use session::Session;
use session::boot_files::{BootScene, lock_boot_files, perform};
use terminal::Screen;

/// Arguments of `boot confirm`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// No trial, a boot other than the trial, or files that cannot be written.
pub fn run(_args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let held = lock_boot_files(session)?;
    let scene = BootScene::read(session)?;
    let Some(tried) = scene.own_words.trial.clone() else {
        return Err(nothing_to_confirm("there is no trial"));
    };
    let mut requested = tried.words.clone();
    requested.push(MARK.to_owned());
    let missing = missing_words(&requested, &scene.running);
    if !missing.is_empty() {
        return Err(nothing_to_confirm(match scene.after {
            BootSinceWrite::SameBoot => "the machine has not been restarted since `boot trial`".to_owned(),
            BootSinceWrite::AnotherBoot => format!(
                "this boot does not use the trial entry (it lacks {}): the trial failed to boot or was not chosen; \
                 `quietcore boot clear` removes the entry",
                missing.join(" ")
            ),
        }));
    }
    let loader = LOADERS.iter().copied().find(|loader| loader.name == tried.loader);
    let loader = loader.map_or_else(|| scene.loader(Some(&tried.loader)).map(|found| found.loader), Ok)?;
    let files = MachineTree::of(scene.root);
    let removed = clear(&files, loader, &tried)?;
    let without = EditedTree::new(&files, &removed.edits);
    // A loader with one line has no second entry; there the trial boot is the proof.
    let (ours, limit) = (scene.own_words.line.as_ref(), scene.limit());
    let wanted = EveryBoot::new(&tried.words, FallbackRequirement::Nothing);
    let mut work = set(&without, loader, ours, wanted, &limit)?;
    work.edits.splice(0..0, removed.edits);
    work.left.extend(removed.left);
    if work.runs.is_empty() {
        work.runs = removed.runs;
    }
    let shown = ChangeView {
        verb: "confirm",
        loader,
        words: &tried.words,
        work: &work,
        mode: ChangeMode::Real,
    };
    screen.text(&shown.text());
    let after = RecordedWords {
        line: work.own_changes.clone(),
        trial: None,
    };
    perform(
        session,
        &held,
        &scene.change(after, &work),
        loader,
        Some(tried.words.clone()),
    )?;
    let state = session.made_lasting_state()?;
    let lasting = DurableStorage(&state);
    note_state(&lasting, session.boot_id().as_deref(), BootWordStage::Live)?;
    super::finish(&shown, "Kept: the default line now contains it.", screen);
    Ok(Status::Done)
}
