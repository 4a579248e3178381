//! Shared code of the tests of this suite.

pub mod browser;
pub mod golden;
pub mod models;
pub mod predicted;
pub mod texts;
