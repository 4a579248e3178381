//! Translates keys and signals into events of the view.

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use root::process::next_signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;
use watch::Key;

/// An external event.
pub enum Input {
    /// A key.
    Key(Key),
    /// Exit (SIGTERM, SIGHUP, SIGINT).
    End,
    /// Suspend, as by the shell's `^Z` (SIGTSTP).
    Stop,
    /// Redraw everything: the size changed, or the process was continued.
    Redraw,
}

/// Maximum delay of a signal; keys wake the process at once.
const TURN: Duration = Duration::from_millis(100);

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
    if is_gone() {
        return Ok(Some(Input::End));
    }
    match event::poll(wait.min(TURN)) {
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
fn is_gone() -> bool {
    let stdin = std::io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut asked, Some(&now)).is_ok() && asked.iter().any(|one| one.revents().intersects(gone))
}

fn word(code: KeyCode, control: bool) -> Option<Key> {
    Some(match code {
        KeyCode::Char(letter) if control => Key::Control(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => Key::Char(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
