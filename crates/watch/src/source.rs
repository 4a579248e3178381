//! What the live view and the playback of a recording have in common.

use crate::{Act, Glyphs, Mode, Now, View};
use root::Failure;
use std::time::Duration;

/// The source of the moments.
pub trait MomentSource {
    /// The kernel's release.
    fn kernel(&self) -> &str;
    /// The moment that is on the screen now.
    fn now(&self, glyphs: Glyphs) -> Now<'_>;
    /// A description of the source.
    fn mode(&self) -> Mode;
    /// Takes new data.
    ///
    /// # Errors
    /// An error that ends the view.
    fn advance(&mut self, view: &mut View) -> Result<SourceState, Failure>;
    /// Performs the action of a key.
    fn act(&mut self, act: Act, view: &mut View);
}

/// The state of a source after it has taken new data.
pub struct SourceState {
    /// Something on the screen must change.
    pub is_new: bool,
    /// No data arrives for this time.
    pub wait: Duration,
    /// The source has ended.
    pub is_over: bool,
}
