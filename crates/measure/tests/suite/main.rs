//! The integration tests of `measure` in one program, with a module for each topic.
//!
//! `live_*` modules measure or trace this machine, need root, or run other programs. `make check` leaves them out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::cast_possible_wrap)]

mod configuration;
mod environment;
mod live_load;
mod live_programs;
mod live_sampling;
