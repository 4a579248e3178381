//! The integration tests of `session` in one program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod two_roots;
