//! Shared code of the tests of this suite.

pub mod lease_machine;
pub mod rehearsal;
