//! `boot confirm`: after a good boot of the trial entry, moves its words to the default line and removes the entry.

use super::change_view::{ChangeView, Mode};
use super::nothing_to_confirm;
use apply::Lasting;
use apply::boot_line::{BootChange, note_state};
use boot::{
    After, BootState, Edited, EveryBoot, Files, Kept, LOADERS, MARK, Need, clear, missing_words, set,
};
use root::{Failure, Status};
use session::Session;
use session::boot_files::{BootScene, carry, lock_boot_files};
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
    let Some(tried) = scene.kept.trial.clone() else {
        return Err(nothing_to_confirm("no entry is being tried"));
    };
    let mut wanted = tried.words.clone();
    wanted.push(MARK.to_owned());
    let missing = missing_words(&wanted, &scene.running);
    if !missing.is_empty() {
        return Err(nothing_to_confirm(match scene.after {
            After::SameBoot => "the machine was not restarted since `boot trial`".to_owned(),
            After::AnotherBoot => format!(
                "this boot is not that of the tried entry (it lacks {}): the trial did not come up, or was not chosen; \
                 `quietcore boot clear` takes the entry away",
                missing.join(" ")
            ),
        }));
    }
    let loader = LOADERS.iter().copied().find(|loader| loader.name == tried.loader);
    let loader = loader.map_or_else(|| scene.loader(Some(&tried.loader)).map(|found| found.loader), Ok)?;
    let files = Files::of(scene.root);
    let gone = clear(&files, loader, &tried)?;
    let without = Edited::new(&files, &gone.edits);
    // A loader with one line has no second entry; there the trial boot is the proof.
    let (ours, limit) = (scene.kept.line.as_ref(), scene.limit());
    let wanted = EveryBoot::new(&tried.words, Need::Nothing);
    let mut work = set(&without, loader, ours, wanted, &limit)?;
    work.edits.splice(0..0, gone.edits);
    work.left.extend(gone.left);
    if work.runs.is_empty() {
        work.runs = gone.runs;
    }
    let shown = ChangeView {
        verb: "confirm",
        loader,
        words: &tried.words,
        work: &work,
        mode: Mode::Real,
    };
    shown.show(screen);
    let change = BootChange {
        before: scene.kept.clone(),
        after: Kept {
            line: work.ours.clone(),
            trial: None,
        },
        edits: work.edits.clone(),
        runs: work.runs.clone(),
        once: None,
    };
    carry(session, &held, &change, loader, Some(tried.words.clone()))?;
    let lasting = session.made_lasting_state()?;
    note_state(&Lasting(&lasting), session.boot_id().as_deref(), BootState::Live)?;
    shown.done(Some("Kept: the default line has it from now on."), screen);
    Ok(Status::Done)
}
