//! The integration tests of `machine` in one program, with a module for each topic.
//!
//! `live_*` modules measure or trace this machine, need root, or run other programs. `make check` leaves them out.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod devices;
mod irqbalance_service;
mod live_machine;
mod machines;
mod made;
mod recheck;
