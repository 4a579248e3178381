//! What live view and recording share: the terminal, the view, and a loop that draws and listens.

use super::keyboard::{self, Input};
use super::terminal::{self, Held};
use crate::{CommandError, Screen};
use root::process;
use std::time::Duration;
use watch::{Act, Glyphs, Look, Mode, Now, View};

/// What the moments come from.
pub trait Source {
    /// The kernel's release.
    fn kernel(&self) -> &str;
    /// What is shown now.
    fn now(&self, glyphs: Glyphs) -> Now<'_>;
    /// Where it comes from.
    fn mode(&self) -> Mode;
    /// Takes what has come meanwhile; says whether the screen has to change, and how long nothing will come.
    ///
    /// # Errors
    /// What ends the view.
    fn advance(&mut self, view: &mut View) -> Result<Turn, CommandError>;
    /// Does what a key asked.
    fn act(&mut self, act: Act, view: &mut View);
}

/// What a look at the source gave.
pub struct Turn {
    /// Something is new.
    pub is_new: bool,
    /// How long nothing will come.
    pub wait: Duration,
    /// There is no more.
    pub is_over: bool,
}

/// Shows a source until somebody ends it. Signals are held already.
///
/// # Errors
/// A terminal that is gone, and what the source says.
pub fn show(source: &mut dyn Source, screen: &Screen) -> Result<(), CommandError> {
    let look = match screen.style() {
        report::Style::Colour => Look::Colour,
        report::Style::Plain => Look::Plain,
    };
    let glyphs = glyphs();
    let mut view = View::default();
    terminal::give_back_on_panic();
    let mut held = Held::take()?;
    let mut is_new = true;
    loop {
        let turn = source.advance(&mut view)?;
        if turn.is_over {
            return Ok(());
        }
        if is_new || turn.is_new {
            let drawn = held.terminal.draw(|frame| {
                let now = source.now(glyphs);
                watch::draw(
                    frame.buffer_mut(),
                    source.kernel(),
                    source.mode(),
                    &now,
                    &view,
                    look,
                );
            });
            drawn.map_err(terminal::failed)?;
        }
        let input = keyboard::next(turn.wait).map_err(terminal::failed)?;
        is_new = input.is_some();
        let act = match input {
            None => None,
            Some(Input::End) => return Ok(()),
            Some(Input::Stop) => Some(Act::Stop),
            Some(Input::Redraw) => Some(Act::Redraw),
            Some(Input::Key(key)) => watch::press(&mut view, key, &source.now(glyphs)),
        };
        match act {
            None => {}
            Some(Act::Quit) => return Ok(()),
            Some(Act::Stop) => {
                held.lend();
                process::stop_here();
                held.retake()?;
            }
            Some(Act::Redraw) => held.retake()?,
            Some(act) => source.act(act, &mut view),
        }
    }
}

/// Blocks where the locale says that the terminal knows them, as the C library decides it: the first that is set counts.
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
