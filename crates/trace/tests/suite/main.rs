//! The integration tests of `trace` in one program, with a module for each topic.
//!
//! `live_*` modules measure or trace this machine, need root, or run other programs. `make check` leaves them out.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crowded;
mod live_mapping;
mod reading;
