//! What several modules of this suite share.

pub mod random_shell;
