//! Shared code of the tests of this suite.

pub mod rehearsal;
