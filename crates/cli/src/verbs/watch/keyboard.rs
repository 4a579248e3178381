//! Translates keys and signals into events of the view.

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use root::process::next_signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;
use watch::KeyPress;

/// An external event.
pub enum Input {
    /// A key.
    Key(KeyPress),
    /// Exit (SIGTERM, SIGHUP, SIGINT).
    End,
    /// Suspend, as by the shell's `^Z` (SIGTSTP).
    Stop,
    /// Redraw everything: the size changed, or the process was continued.
    Redraw,
}

/// Maximum delay of a signal; keys wake the process at once.
const MAX_SIGNAL_DELAY: Duration = Duration::from_millis(100);

/// The next event within this time. Signals are blocked for this ([`root::process::hold_signals`]).
///
/// # Errors
/// The terminal is gone.
pub fn next(wait: Duration) -> std::io::Result<Option<Input>> {
    if let Some(arrived) = next_signal(Duration::ZERO) {
        return Ok(match arrived.number {
            libc::SIGTERM | libc::SIGHUP | libc::SIGINT | libc::SIGQUIT => Some(Input::End),
            libc::SIGTSTP => Some(Input::Stop),
            libc::SIGWINCH | libc::SIGCONT => Some(Input::Redraw),
            _ => None,
        });
    }
    if has_hung_up() {
        return Ok(Some(Input::End));
    }
    match event::poll(wait.min(MAX_SIGNAL_DELAY)) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(None),
        Err(error) => return Err(error),
    }
    Ok(match event::read()? {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            word(key.code, key.modifiers.contains(KeyModifiers::CONTROL)).map(Input::Key)
        }
        Event::Resize(..) => Some(Input::Redraw),
        _ => None,
    })
}

/// Whether the terminal has hung up: no more input can arrive, even where no SIGHUP was sent.
fn has_hung_up() -> bool {
    let stdin = std::io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let hang_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut polled, Some(&now)).is_ok() && polled.iter().any(|one| one.revents().intersects(hang_up))
}

fn word(code: KeyCode, control: bool) -> Option<KeyPress> {
    Some(match code {
        KeyCode::Char(letter) if control => KeyPress::Control(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => KeyPress::Char(letter),
        KeyCode::Up => KeyPress::Up,
        KeyCode::Down => KeyPress::Down,
        KeyCode::Left => KeyPress::Left,
        KeyCode::Right => KeyPress::Right,
        KeyCode::PageUp => KeyPress::PageUp,
        KeyCode::PageDown => KeyPress::PageDown,
        KeyCode::Home => KeyPress::Home,
        KeyCode::End => KeyPress::End,
        KeyCode::Tab => KeyPress::Tab,
        KeyCode::BackTab => KeyPress::BackTab,
        KeyCode::Enter => KeyPress::Enter,
        KeyCode::Esc => KeyPress::Escape,
        KeyCode::Backspace => KeyPress::Backspace,
        _ => return None,
    })
}
