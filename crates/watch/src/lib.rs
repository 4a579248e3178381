//! The live view: what happened on the CPUs, moment by moment, who did it, and what `check` says about it.
//!
//! Nothing here reads a machine or a terminal. Whoever samples hands in [`Moment`]s; a recording is the same moments, one
//! a line; keys change a [`View`]; [`draw`] turns both into cells. So a recording shows what was seen live, and a test
//! sees the screens that a person sees. A pane is one file of `panes` and one line of [`PANES`].
//!
//! [`drift`] is the same for nobody who looks: what has changed since, since when, and who did it.
//! [`metrics`] is what is known as numbers for Prometheus.

pub mod drift;
pub mod metrics;

mod keys;
mod moment;
mod now;
mod overlay;
mod panes;
mod rates;
mod recording;
mod row;
mod screen;
mod spark;
mod view;

pub use keys::{Act, Key, press};
pub use moment::{Header, Interrupt, Moment, Place, Ran, SCHEMA, Scene, Seen, Thread};
pub use now::Now;
pub use panes::{PANES, Pane};
pub use recording::{MOST_BYTES, Recording, RecordingError, line, parse};
pub use screen::{Look, Mode, draw};
pub use spark::Glyphs;
pub use view::{Overlay, Scope, View};
