//! Shared by the tests of this suite.

pub mod drawn;
pub mod golden;
