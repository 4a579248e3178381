//! The integration tests of `formats` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bad_input;
mod everything;
mod files;
mod hwlatdetect;
mod old_releases;
mod percentile_tables;
mod printed;
mod round_trips;
mod rtla_top;
mod support;
