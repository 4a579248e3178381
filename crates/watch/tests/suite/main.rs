//! The integration tests of `watch` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod machines;
mod metrics;
mod screens;
mod support;
