//! `boot set`: words onto the default line.

use super::scene::{Shown, carry};
use super::target::{Mode, Target};
use super::words::Wanted;
use crate::{CommandError, Screen, Status};
use apply::boot_line::BootChange;
use boot::{Files, Kept, Need, set};

/// Arguments of `boot set`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    target: Target,
    /// The boot loader, where several are found
    #[arg(long, value_name = "NAME")]
    loader: Option<String>,
    /// Also where no entry would stay bootable as it was
    #[arg(long)]
    force: bool,
}

/// Runs it.
///
/// # Errors
/// A loader that cannot, words that cannot be, files that cannot be written.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let (scene, changing) = args.target.open(screen)?;
    let mode = Mode::under(changing.as_ref());
    let loader = scene.loader(args.loader.as_deref())?.loader;
    let ours = scene.kept.line.as_ref();
    let chosen = args.wanted.choose(&scene.root, loader, ours)?;
    let need = if args.force { Need::Nothing } else { Need::Fallback };
    scene.check_running(&chosen.words)?;
    let files = Files::of(&scene.root);
    let mut work = set(&files, loader, ours, &chosen.words, &scene.limit(), need)?;
    work.notes.splice(0..0, chosen.notes);
    work.notes.extend((loader.remark)(&files));
    let shown = Shown {
        verb: "set",
        loader,
        words: &chosen.words,
        work: &work,
        mode,
    };
    shown.show(screen);
    if let Some(changing) = changing.filter(|_| !work.is_nothing()) {
        let change = BootChange {
            before: scene.kept.clone(),
            after: Kept {
                line: work.ours.clone(),
                trial: scene.kept.trial.clone(),
            },
            edits: work.edits.clone(),
            runs: work.runs.clone(),
            once: None,
        };
        carry(&changing, &change, loader, Some(chosen.words.clone()))?;
    }
    shown.done(
        Some("Written. The next boot has it; `quietcore boot clear` takes it out again."),
        screen,
    );
    Ok(Status::Done)
}
