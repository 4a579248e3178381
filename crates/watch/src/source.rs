//! What the live view and the playback of a recording have in common.

use crate::{DisplayData, Glyphs, ViewAction, ViewMode, ViewState};
use root::Failure;
use std::time::Duration;

/// The source of the moments.
pub trait MomentSource {
    /// The kernel's release.
    fn kernel(&self) -> &str;
    /// The moment that is on the screen now.
    fn now(&self, glyphs: Glyphs) -> DisplayData<'_>;
    /// A description of the source.
    fn mode(&self) -> ViewMode;
    /// Takes new data.
    ///
    /// # Errors
    /// An error that ends the view.
    fn advance(&mut self, view: &mut ViewState) -> Result<SourceState, Failure>;
    /// Performs the action of a key.
    fn act(&mut self, act: ViewAction, view: &mut ViewState);
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
