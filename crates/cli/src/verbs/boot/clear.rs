//! `boot clear`: our words out again, and the entry that was to be tried.

use super::declaration::still_declared;
use super::scene::{Scene, Shown, carry};
use super::target::{Mode, Target};
use crate::{CommandError, Screen, Status};
use apply::boot_line::BootChange;
use apply::installed::{Placed, Removed};
use boot::{Edited, Files, Kept, LOADERS, Loader, Ours, Work, clear};
use session::{ChangeLock, Session};

/// Arguments of `boot clear`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

/// Runs it.
///
/// # Errors
/// Files that cannot be written; words that cannot be taken out.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    let opened = args.target.reading.open(session)?;
    let session: &Session = &opened;
    let (scene, changing) = args.target.begin(session, screen)?;
    let mode = Mode::under(changing.as_ref());
    let Some(Clearing {
        loader,
        words,
        mut work,
    }) = all_work(&scene)?
    else {
        screen.text("None of quietcore's words are in the boot files.\n");
        screen.json(&serde_json::json!({
            "schema": "quietcore.boot/1", "verb": "clear", "loader": null, "words": [], "dry_run": mode == Mode::Shown,
            "changed": false, "edits": [], "runs": [], "notes": [], "drift": [], "next": null,
        }));
        return Ok(Status::Done);
    };
    work.notes.extend(still_declared(session, scene.root));
    let shown = Shown {
        verb: "clear",
        loader,
        words: &words,
        work: &work,
        mode,
    };
    shown.show(screen);
    if let Some(changing) = changing {
        carry(session, &changing, &change(&scene, &work), loader, None)?;
    }
    shown.done(Some("Taken out. The next boot is without it."), screen);
    Ok(match work.left.is_empty() {
        true => Status::Done,
        false => Status::Conflict,
    })
}

/// As part of `undo --all`, whose lock it is.
///
/// # Errors
/// A journal that cannot be read.
pub(crate) fn clear_all(
    session: &Session,
    changing: &ChangeLock,
    removed: &mut Removed,
) -> Result<(), CommandError> {
    let _boot_files = match changing.with_boot_files() {
        Ok(lock) => lock,
        Err(error) => {
            removed.failed.push(format!("{}: {}", error.what, error.why));
            return Ok(());
        }
    };
    let scene = Scene::read(session)?;
    let Some(Clearing { loader, work, .. }) = all_work(&scene)? else {
        return Ok(());
    };
    match carry(session, changing, &change(&scene, &work), loader, None) {
        Ok(()) => {
            removed.drift.extend(work.left.iter().cloned());
            removed.placed.extend(work.edits.iter().map(|edit| Placed {
                path: edit.path.clone(),
                outcome: match edit.after {
                    Some(_) => "restored",
                    None => "removed",
                },
            }));
        }
        Err(error) => removed.failed.push(format!("{}: {}", error.what, error.why)),
    }
    Ok(())
}

/// What is taken out, and from where.
struct Clearing {
    loader: &'static Loader,
    words: Vec<String>,
    work: Work,
}

/// What takes the trial alone out; `None` where nothing is tried.
///
/// # Errors
/// A loader that is none here, files that cannot be read.
pub(super) fn trial_work(scene: &Scene) -> Result<Option<(&'static Loader, Work)>, CommandError> {
    let ours: Vec<&Ours> = scene.kept.trial.iter().collect();
    Ok(work_of(scene, &ours)?.map(|clearing| (clearing.loader, clearing.work)))
}

/// What takes both the words and the trial out; `None` where nothing is ours.
fn all_work(scene: &Scene) -> Result<Option<Clearing>, CommandError> {
    let kept = &scene.kept;
    let all: Vec<&Ours> = kept.trial.iter().chain(&kept.line).collect();
    work_of(scene, &all)
}

fn work_of(scene: &Scene, all: &[&Ours]) -> Result<Option<Clearing>, CommandError> {
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let loader = LOADERS.iter().copied().find(|loader| loader.name == first.loader);
    let loader = loader.map_or_else(|| scene.loader(None).map(|found| found.loader), Ok)?;
    let files = Files::of(scene.root);
    let mut work = Work::default();
    for ours in all {
        let done = Edited::new(&files, &work.edits);
        let next = clear(&done, loader, ours)?;
        work.edits.extend(next.edits);
        work.left.extend(next.left);
        for run in next.runs {
            if !work.runs.contains(&run) {
                work.runs.push(run);
            }
        }
    }
    let words = all.iter().flat_map(|ours| ours.words.clone()).collect();
    Ok(Some(Clearing { loader, words, work }))
}

fn change(scene: &Scene, work: &Work) -> BootChange {
    BootChange {
        before: scene.kept.clone(),
        after: Kept::default(),
        edits: work.edits.clone(),
        runs: work.runs.clone(),
        once: None,
    }
}
