//! The integration tests of `events` in one program, with a module for each topic.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod dat;
mod flow;
mod formats;
mod kernel_text;
mod pages;
mod text;
