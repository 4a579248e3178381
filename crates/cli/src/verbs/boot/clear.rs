//! `boot clear`: removes our words, and the trial entry.

use super::change_view::{ChangeView, Mode};
use super::target::Target;
use root::{Failure, Status};
use session::Session;
use session::boot_files::carry;
use session::boot_files::clearing::{Clearing, all_work, change};
use session::boot_files::declaration::still_declared;
use terminal::Screen;

/// Arguments of `boot clear`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
///
/// # Errors
/// Files that cannot be written, or words that cannot be removed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let opened = args.target.reading.open(session)?;
    let session: &Session = &opened;
    let (scene, changing) = args.target.begin(session)?;
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
    let shown = ChangeView {
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
