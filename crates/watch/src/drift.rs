//! Drift: what happens on a machine -> which layers of `check` are asked again -> what has appeared or gone since, and who
//! did it.
//!
//! Everything here is told the time and what was seen; sockets, files and commands are those of whoever calls. What is kept
//! is bounded: a thousand processes a second are one question.

mod burst;
mod concern;
mod datagrams;
mod finding;
mod happening;
mod layers;
mod ledger;
mod line;
mod pace;
mod purse;
mod repairs;

pub use burst::{Asked, Burst};
pub use concern::{concern, concerns};
pub use datagrams::{link, processes, uevent};
pub use finding::Kept;
pub use happening::{Happening, Process, Writer};
pub use layers::Layers;
pub use ledger::{Change, Ledger};
pub use line::{Line, of_change, text};
pub use pace::Pace;
pub use purse::{Funds, Purse};
pub use repairs::{May, Repairs};

#[cfg(test)]
mod tests;
