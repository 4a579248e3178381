//! `watch --play`: reads a recording and plays it.

use super::screen_loop::show;
use super::terminal;
use ::terminal::Screen;
use root::{Failure, Status, process};
use std::path::Path;
use watch::{Player, Recording};

/// Plays a file.
///
/// # Errors
/// The file is missing, not a recording, of another version, or damaged.
pub fn run(file: &Path, screen: &Screen) -> Result<Status, Failure> {
    // An error in the file is reported even where nothing can be drawn.
    let recording = read(file)?;
    if let Some(refusal) = terminal::refusal() {
        return Err(refusal);
    }
    let _held = process::hold_signals();
    let mut player = Player::new(recording);
    show(&mut player, screen)?;
    Ok(Status::Done)
}

fn read(file: &Path) -> Result<Recording, Failure> {
    let name = report::safe(&file.display().to_string());
    let bytes = root::input::bytes(file, watch::MOST_BYTES).map_err(|error| match error.errno() {
        Some(libc::EFBIG) => Failure::usage(
            format!("{name} cannot be played"),
            format!("it is longer than {} MiB", watch::MOST_BYTES >> 20),
            "a recording is lines: `head -n` and `tail -n` make a shorter one, its first line first",
        ),
        // The reader returns one errno for everything that is not a regular file.
        Some(libc::EISDIR) if !file.is_dir() => Failure::usage(
            format!("{name} cannot be played"),
            "it is a pipe or a device, and in a recording a person goes back",
            "write it to a file first, then play that",
        ),
        _ => error.into(),
    })?;
    watch::parse(&bytes).map_err(|error| {
        Failure::usage(
            format!("{name} cannot be played"),
            report::safe(&error.to_string()),
            "play a file that `quietcore watch --record FILE` of this version wrote",
        )
    })
}
