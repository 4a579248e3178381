//! Shows or records this machine.

use super::Args;
use super::screen_loop::show;
use ::terminal::Screen;
use daemon::{LiveOptions, LiveSource};
use root::{Failure, Status, process};
use session::Session;
use std::time::Duration;
use watch::{MomentSource as _, View};

/// Shows this machine.
///
/// # Errors
/// `check` is missing something essential, a file cannot be written, or the terminal is gone.
pub fn run(args: &Args, session: &Session, screen: &Screen) -> Result<Status, Failure> {
    let _held = process::hold_signals();
    let mut live = start(args, session)?;
    show(&mut live, screen).map(|()| Status::Done)
}

/// Records this machine, without a terminal.
///
/// # Errors
/// As [`run`].
pub fn record_only(session: &Session, args: &Args, screen: &mut Screen) -> Result<Status, Failure> {
    let _held = process::hold_signals();
    let mut live = start(args, session)?;
    screen.note("no terminal: recording only; SIGINT or SIGTERM ends it\n");
    let mut view = View::default();
    while !live.advance(&mut view)?.is_over {
        if let Some(signal) = process::next_signal(Duration::from_millis(100))
            && process::ENDINGS.contains(&signal.number)
        {
            break;
        }
    }
    screen.text(&format!("{} moments\n", live.counted()));
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
