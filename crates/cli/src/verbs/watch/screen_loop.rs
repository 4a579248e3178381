//! The loop of live view and playback: draws, and reads keys and signals.

use super::keyboard::{self, Input};
use super::terminal::{self, TerminalGuard};
use ::terminal::Screen;
use root::{Failure, process};
use watch::{Glyphs, MomentSource, TitleBar, ViewAction, ViewState};

/// Shows a source until the user or a signal ends it. Signals are already blocked.
///
/// # Errors
/// The terminal is gone, or an error of the source.
pub fn show(source: &mut dyn MomentSource, screen: &Screen) -> Result<(), Failure> {
    let look = screen.style();
    let glyphs = glyphs();
    let mut view = ViewState::default();
    terminal::restore_on_panic();
    let mut held = TerminalGuard::take()?;
    let mut is_new = true;
    loop {
        let state = source.advance(&mut view)?;
        if state.is_over {
            return Ok(());
        }
        if is_new || state.is_new {
            let drawn = held.terminal.draw(|frame| {
                let now = source.now(glyphs);
                let bar = TitleBar {
                    kernel: source.kernel(),
                    mode: source.mode(),
                };
                watch::draw(frame.buffer_mut(), bar, &now, &view, look);
            });
            drawn.map_err(terminal::failed)?;
        }
        let input = keyboard::next(state.wait).map_err(terminal::failed)?;
        is_new = input.is_some();
        let act = match input {
            None => None,
            Some(Input::End) => return Ok(()),
            Some(Input::Stop) => Some(ViewAction::Stop),
            Some(Input::Redraw) => Some(ViewAction::Redraw),
            Some(Input::Key(key)) => watch::press(&mut view, key, &source.now(glyphs)),
        };
        match act {
            None => {}
            Some(ViewAction::Quit) => return Ok(()),
            Some(ViewAction::Stop) => {
                held.suspend();
                process::stop_here();
                held.retake()?;
            }
            Some(ViewAction::Redraw) => held.retake()?,
            Some(act) => source.act(act, &mut view),
        }
    }
}

/// Uses block characters where the locale supports them. As in the C library, the first variable that is set decides.
fn glyphs() -> Glyphs {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty());
    let name = set
        .map(|value| value.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    match name.contains("utf-8") || name.contains("utf8") {
        true => Glyphs::Blocks,
        false => Glyphs::Ascii,
    }
}
