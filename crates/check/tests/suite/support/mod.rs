//! Shared by the tests of this suite.

pub mod bench;
