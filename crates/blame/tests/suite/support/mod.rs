//! Shared by the tests of this suite.

pub mod asking;
pub mod stream;
