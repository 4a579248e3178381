//! Implements the live view: what happened on the CPUs, moment by moment, what caused it, and what `check` reports.
//!
//! Nothing here reads a machine or a terminal. The sampler passes in [`Moment`]s; a recording is the same moments, one per
//! line; keys change a [`ViewState`]; [`draw`] turns both into cells. So a recording shows what was seen live, and a test sees the
//! same screens as the user. A pane is one file of `panes` and one line of [`PANES`].
//!
//! [`drift`] is the unattended form: what has changed, since when, and which process did it. [`metrics`] exports the state
//! for Prometheus.

pub mod drift;
pub mod metrics;

mod keys;
mod moment;
mod now;
mod overlay;
mod panes;
mod player;
mod rates;
mod recording;
mod row;
mod screen;
mod source;
mod spark;
mod view;

pub use keys::{KeyPress, ViewAction, press};
pub use moment::{
    Header, IsolatedThread, Moment, ObservedFinding, PresenceReason, SCHEMA, ThreadRuntime, WatchScene,
    WatchedInterrupt,
};
pub use now::DisplayData;
pub use panes::{PANES, Pane};
pub use player::Player;
pub use recording::{MOST_BYTES, RecordingError, WatchRecording, line, parse};
pub use screen::{TitleBar, ViewMode, draw};
pub use source::{MomentSource, SourceState};
pub use spark::Glyphs;
pub use view::{CpuScope, Overlay, ViewState};
