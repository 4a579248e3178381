//! What a captured machine must hold, what its links may do, and the errors for one that breaks these rules.

use crate::RootError;
use std::path::Path;

/// Links that may be followed on the way to one file, as in the kernel (`MAXSYMLINKS`).
pub(crate) const MAX_LINKS: u32 = 40;

/// What a capture must hold at its top (or in a single top folder) to be one.
pub(crate) const TOP_NAMES: [&str; 2] = ["proc", "sys"];

/// That a capture holds what no capture may hold.
pub(crate) fn hostile(path: &str, what: &str) -> RootError {
    RootError::Hostile {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}

/// Why a path is refused: a link on it leads out.
pub(crate) const CLIMBS_OUT: &str = "a link in this path leads out of the captured root";
/// Why a path is refused: links on it lead to each other.
pub(crate) const LOOPS: &str = "the links in this path form a loop";

/// The message for something that is readable and yet no captured machine.
pub(crate) fn not_a_machine(path: &Path) -> RootError {
    RootError::Archive {
        path: path.to_owned(),
        why: "it holds neither `proc` nor `sys`, at its top or in a single folder there; give a directory or archive \
              that `quietcore snapshot` made, or one with copies of /proc and /sys"
            .to_owned(),
    }
}
