//! Shared code of the tests of this suite.

pub mod answers;
pub mod stream;
