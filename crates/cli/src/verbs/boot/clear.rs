//! `boot clear`: removes the parameters that quietcore added, and the trial entry.

use super::BootTarget;
use boot::RecordedWords;
use report::{BootChangeJson, ChangeMode, ChangeView};
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
        screen.verdict("The boot files contain no parameters from quietcore.\n");
        // A value has its keys in order, as this document always had.
        screen.json(&serde_json::json!(BootChangeJson::nothing("clear", mode)));
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
    screen.text(&shown.text());
    if let Some(changing) = changing {
        let change = scene.change(RecordedWords::default(), &work);
        perform(session, &changing, &change, loader, None)?;
    }
    let (next, status) = match work.left.is_empty() {
        true => ("Removed. The next boot is without them.", Status::Done),
        false => (
            "Removed, except for what another program changed since. The next boot is without the rest.",
            Status::Conflict,
        ),
    };
    super::finish(&shown, next, screen);
    Ok(status)
}
