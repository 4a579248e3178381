//! Shared code of the tests of this suite.

pub mod drawn;
pub mod golden;
