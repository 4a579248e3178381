//! The integration tests of `blame` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attribution;
mod calls;
mod chains;
mod cures;
mod functions;
mod hwlat;
mod inside;
mod programs;
mod runs;
mod senders;
mod streaming;
mod subjects;
mod support;
mod timers_and_losses;
