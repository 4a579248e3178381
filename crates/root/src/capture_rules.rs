//! Defines what a captured machine must contain, what its links may do, and the errors for violations.

use crate::RootError;
use std::path::Path;

/// Maximum number of links on the way to one file, as in the kernel (`MAXSYMLINKS`).
pub(crate) const MAX_LINKS: u32 = 40;

/// Names that a capture must contain at its top (or in a single top folder).
pub(crate) const TOP_NAMES: [&str; 2] = ["proc", "sys"];

/// The error for a capture with forbidden content.
pub(crate) fn hostile(path: &str, what: &str) -> RootError {
    RootError::Hostile {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}

/// Why a path is refused: a link on it leaves the root.
pub(crate) const CLIMBS_OUT: &str = "a link in this path leads out of the captured root";
/// Why a path is refused: its links form a loop.
pub(crate) const LOOPS: &str = "the links in this path form a loop";

/// The error for something readable that is not a captured machine.
pub(crate) fn not_a_machine(path: &Path) -> RootError {
    RootError::Archive {
        path: path.to_owned(),
        why: "it holds neither `proc` nor `sys`, at its top or in a single folder there; give a directory or archive \
              that `quietcore snapshot` made, or one with copies of /proc and /sys"
            .to_owned(),
    }
}
