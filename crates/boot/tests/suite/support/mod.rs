//! Shared code of several modules of this suite.

pub mod random_shell;
