//! `boot clear`: removes our words, and the trial entry.

use super::BootTarget;
use super::change_view::{ChangeMode, ChangeView};
use boot::RecordedWords;
use root::{Failure, Status};
use session::Session;
use session::boot_files::clearing::{BootRemoval, all_work};
use session::boot_files::declaration::still_declared;
use session::boot_files::perform;
use terminal::Screen;

/// Arguments of `boot clear`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: BootTarget,
}

/// Runs the command.
///
/// # Errors
/// Files that cannot be written, or words that cannot be removed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let session = &*args.target.reading.open(session)?;
    let (scene, changing) = args.target.open(session)?;
    let mode = ChangeMode::under(changing.as_ref());
    let Some(BootRemoval {
        loader,
        words,
        mut work,
    }) = all_work(&scene)?
    else {
        screen.text("None of quietcore's words are in the boot files.\n");
        screen.json(&serde_json::json!({
            "schema": "quietcore.boot/1", "verb": "clear", "loader": null, "words": [], "dry_run": mode == ChangeMode::Preview,
            "changed": false, "edits": [], "runs": [], "notes": [], "drift": [], "next": null,
        }));
        return Ok(Status::Done);
    };
    work.notes.extend(still_declared(session));
    let shown = ChangeView {
        verb: "clear",
        loader,
        words: &words,
        work: &work,
        mode,
    };
    shown.show(screen);
    if let Some(changing) = changing {
        let change = scene.change(RecordedWords::default(), &work);
        perform(session, &changing, &change, loader, None)?;
    }
    shown.finish(Some("Taken out. The next boot is without it."), screen);
    Ok(match work.left.is_empty() {
        true => Status::Done,
        false => Status::Conflict,
    })
}
