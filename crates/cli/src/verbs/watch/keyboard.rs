//! What was typed, and which signals came, in the words of the view.

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use root::process::next_signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;
use watch::Key;

/// Something that came from outside.
pub enum Input {
    /// A key.
    Key(Key),
    /// End (SIGTERM, SIGHUP, SIGINT).
    End,
    /// Stop, as the shell's `^Z` (SIGTSTP).
    Stop,
    /// Everything must be drawn anew: another size, or somebody let us go on.
    Redraw,
}

/// How long a signal may lie: keys wake us at once.
const TURN: Duration = Duration::from_millis(100);

/// The next thing that comes, at most after so long. Signals are held for this ([`root::process::hold_signals`]).
///
/// # Errors
/// A terminal that is gone.
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

/// Whether the terminal has hung up: nothing will ever be typed there again, also where nobody sends SIGHUP for it.
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
