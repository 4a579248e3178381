//! Tracks drift: maps events on a machine to the layers of `check` to run again, and finds what appeared or ended since, and
//! which process caused it.
//!
//! Nothing here reads the clock or the machine; sockets, files and commands belong to the caller. The state is bounded: a
//! thousand processes a second cause one check.

mod burst;
mod concern;
mod datagrams;
mod finding;
mod interval;
mod layers;
mod ledger;
mod line;
mod notification;
mod repairs;
mod token_bucket;

pub use burst::{Burst, CheckRequest};
pub use concern::{concern, concerns};
pub use datagrams::{link, processes, uevent};
pub use finding::OpenFinding;
pub use interval::Interval;
pub use layers::Layers;
pub use ledger::{FindingChange, Ledger};
pub use line::{LineEvent, LogLine, of_change, text};
pub use notification::{Notification, Process, WriterProcess};
pub use repairs::{RepairDecision, Repairs};
pub use token_bucket::{BucketLevel, TokenBucket};

#[cfg(test)]
mod tests;
