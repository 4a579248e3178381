//! The integration tests of `observe` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod close;
mod counters;
