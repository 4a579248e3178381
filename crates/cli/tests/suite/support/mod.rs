//! Shared code of the tests of this suite.

pub mod alone;
pub mod board;
pub mod boot_files;
pub mod captured;
pub mod documents;
pub mod program;
pub mod schemas;
pub mod scraping;
pub mod shell;
pub mod studied;
pub mod traced;
pub mod watched;
