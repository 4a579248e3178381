//! The integration tests of `root` in one program, with a module for each topic.
//!
//! `live_*` modules measure or trace this machine, need root, or run other programs. `make check` leaves them out.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod captured;
mod live_foreign_links;
mod live_notifications;
