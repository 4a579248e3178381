//! Drift: what happens on a machine -> which layers of `check` are asked again -> what has appeared or gone since, and who
//! did it.
//!
//! Everything here is told the time and what was seen; sockets, files and commands are those of whoever calls. What is kept
//! is bounded: a thousand processes a second are one question.

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
pub use ledger::{Change, Ledger};
pub use line::{Line, of_change, text};
pub use notification::{Notification, Process, Writer};
pub use repairs::{RepairDecision, Repairs};
pub use token_bucket::{BucketLevel, TokenBucket};

#[cfg(test)]
mod tests;
