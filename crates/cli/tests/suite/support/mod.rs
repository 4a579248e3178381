//! Shared code of the tests of this suite.

pub mod alone;
pub mod board;
pub mod boot_files;
pub mod captured;
pub mod program;
pub mod scraping;
pub mod studied;
pub mod traced;
pub mod watched;
