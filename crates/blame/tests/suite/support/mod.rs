//! Shared by the tests of this suite.

pub mod answers;
pub mod stream;
