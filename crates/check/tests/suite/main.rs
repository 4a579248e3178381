//! The integration tests of `check` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod judging;
mod layers;
mod support;
