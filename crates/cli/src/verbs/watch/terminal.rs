//! Takes over the whole terminal, and restores it however the program ends.

use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use root::{Failure, Status};
use std::io::{IsTerminal, Stdout};

/// Why nothing can be drawn here; `None` where drawing works.
pub fn refusal() -> Option<Failure> {
    let why = match std::env::var("TERM") {
        _ if !std::io::stdout().is_terminal() => "standard output is not a terminal",
        _ if !std::io::stdin().is_terminal() => "standard input is not a terminal",
        Ok(name) if name == "dumb" => "TERM=dumb means that the cursor cannot be moved",
        Ok(name) if name.is_empty() => "TERM is empty, so the type of the terminal is unknown",
        Err(_) => "TERM is not set, so the type of the terminal is unknown",
        Ok(_) => return None,
    };
    Some(Failure::usage(
        "watch cannot draw here",
        why,
        "`quietcore check` prints the state once, line by line; `quietcore watch --record FILE` needs no terminal",
    ))
}

/// The terminal while the view uses it. Dropping it restores the terminal.
pub struct TerminalGuard {
    /// The drawing target.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TerminalGuard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn take() -> Result<TerminalGuard, Failure> {
        enter().map_err(failed)?;
        let taken = Terminal::new(CrosstermBackend::new(std::io::stdout()));
        taken.map(|terminal| TerminalGuard { terminal }).map_err(|error| {
            restore();
            failed(error)
        })
    }

    /// Restores the terminal temporarily.
    pub fn suspend(&mut self) {
        restore();
    }

    /// Takes the terminal over again.
    ///
    /// # Errors
    /// As [`TerminalGuard::take`].
    pub fn retake(&mut self) -> Result<(), Failure> {
        enter().map_err(failed)?;
        self.terminal.clear().map_err(failed)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// A panic must not leave the terminal unusable, or print its message on a screen that vanishes.
pub fn restore_on_panic() {
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        former(panic);
    }));
}

fn enter() -> std::io::Result<()> {
    enable_raw_mode()?;
    execute!(std::io::stdout(), EnterAlternateScreen, Hide).inspect_err(|_| restore())
}

/// Where the terminal is gone, there is nothing to restore.
fn restore() {
    let _ = execute!(std::io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// The error for a terminal that is gone.
pub fn failed(error: std::io::Error) -> Failure {
    Failure::new(
        Status::Unable,
        "the terminal could not be used",
        error.to_string(),
        "`quietcore check` prints the state line by line",
    )
}
