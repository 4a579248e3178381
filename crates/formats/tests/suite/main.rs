//! The integration tests of `formats`, in one program: a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bad_input;
mod everything;
mod files;
mod old_releases;
mod printed;
mod round_trips;
mod support;
