//! Opens what the view shows or records: this machine, or a recording.

use super::screen_loop::show;
use super::{Args, terminal};
use ::terminal::Screen;
use daemon::{LiveOptions, LiveSource};
use root::{Failure, Status, process};
use session::Session;
use std::path::Path;
use std::time::Duration;
use watch::{MomentSource as _, Player, ViewState, WatchRecording};

/// Shows this machine.
///
/// # Errors
/// `check` is missing something essential, a file cannot be written, or the terminal is gone.
pub fn show_live(args: &Args, session: &Session, screen: &Screen) -> Result<Status, Failure> {
    let _held = process::block_signals();
    let mut live = start(args, session)?;
    show(&mut live, screen).map(|()| Status::Done)
}

/// Records this machine, without a terminal.
///
/// # Errors
/// As [`show_live`].
pub fn record_only(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let _held = process::block_signals();
    let mut live = start(args, session)?;
    screen.note("no terminal: recording only; SIGINT or SIGTERM ends it\n");
    let mut view = ViewState::default();
    while !live.advance(&mut view)?.is_over {
        if let Some(signal) = process::next_signal(Duration::from_millis(100))
            && process::ENDINGS.contains(&signal.number)
        {
            break;
        }
    }
    screen.text(&format!("{} samples\n", live.counted()));
    Ok(Status::Done)
}

fn start(args: &Args, session: &Session) -> Result<LiveSource, Failure> {
    let options = LiveOptions {
        cpus: args.cpus.clone(),
        every: args.every,
        record: args.record.clone(),
        duration: args.duration,
    };
    LiveSource::start(session, &options)
}

/// Plays a file.
///
/// # Errors
/// The file is missing, not a recording, of another version, or damaged.
pub fn play(file: &Path, screen: &Screen) -> Result<Status, Failure> {
    // An error in the file is reported even where nothing can be drawn.
    let recording = read(file)?;
    if let Some(refusal) = terminal::refusal() {
        return Err(refusal);
    }
    let _held = process::block_signals();
    let mut player = Player::new(recording);
    show(&mut player, screen)?;
    Ok(Status::Done)
}

fn read(file: &Path) -> Result<WatchRecording, Failure> {
    let name = report::safe_path(file);
    let bytes = root::input::bytes(file, watch::MOST_BYTES).map_err(|error| match error.errno() {
        Some(libc::EFBIG) => Failure::usage(
            format!("{name} cannot be played"),
            format!("it is longer than {} MiB", watch::MOST_BYTES >> 20),
            "a recording consists of lines: `head -n` and `tail -n` shorten it; keep the first line",
        ),
        // The reader returns one errno for everything that is not a regular file.
        Some(libc::EISDIR) if !file.is_dir() => Failure::usage(
            format!("{name} cannot be played"),
            "it is a pipe or a device, and playback must be able to go back",
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
