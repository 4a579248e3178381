//! The kernel's trace buffers while they fill: which events there are, pages as they come, what was lost.
//!
//! Reading only. Who makes an instance, switches events on and gives everything back is `apply::tracing`, because that
//! changes the machine; this crate is given the directory. It never sleeps on a buffer: who waits in the kernel for data is
//! woken by an interrupt on the very CPU that is watched.

mod catalogue;
mod error;
mod recording;
mod source;
mod spooling;
mod stats;

pub use catalogue::{Catalogue, catalogue, events_of};
pub use error::TraceError;
pub use recording::{Drained, Recorded, Recorder};
pub use source::{Source, Way};
pub use spooling::{Spooled, Spooler};
pub use stats::Stats;
