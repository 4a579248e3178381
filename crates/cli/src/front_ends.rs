//! Drop-in front ends: the command lines of other programs, answered by this one. They run by the name the binary is
//! called with (`cset ...`) and as `quietcore cset ...`, and keep the exit codes of what they replace.

pub mod bitcalc;
mod count_ticks;
pub mod cset;
pub mod partrt;
mod systress;

use crate::{Screen, Status};
use session::Session;
use std::ffi::OsString;
use std::path::Path;

/// Runs a front end with its arguments, its own name left out.
type FrontEnd = fn(&[OsString], &Session, &mut Screen) -> Status;

/// The front ends: one line each.
const FRONT_ENDS: &[(&str, FrontEnd)] = &[
    ("cset", cset::run),
    ("partrt", partrt::run),
    ("bitcalc", bitcalc::run),
    ("count_ticks", count_ticks::run),
    ("systress", systress::run),
];

/// Runs the front end that a command line is for; `None` where it is for quietcore itself.
pub fn run(session: &Session, command_line: impl IntoIterator<Item = OsString>) -> Option<Status> {
    let words: Vec<OsString> = command_line.into_iter().collect();
    let (front_end, args) = chosen(&words)?;
    let mut screen = Screen::plain();
    let status = front_end(args, session, &mut screen);
    Some(screen.ended(status))
}

fn chosen(words: &[OsString]) -> Option<(FrontEnd, &[OsString])> {
    let named = |name: &OsString| {
        let found = FRONT_ENDS.iter().find(|(known, _)| name.to_str() == Some(*known));
        found.map(|(_, front_end)| *front_end)
    };
    let (called, args) = words.split_first()?;
    let called = Path::new(called).file_name().map(OsString::from);
    if let Some(front_end) = called.as_ref().and_then(named) {
        return Some((front_end, args));
    }
    let (first, args) = args.split_first()?;
    named(first).map(|front_end| (front_end, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args_of(line: &str) -> Option<Vec<String>> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (_, args) = chosen(&words)?;
        Some(
            args.iter()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect(),
        )
    }

    #[test]
    fn they_go_by_the_name_of_the_binary_and_by_the_first_word() {
        for line in [
            "cset set -l",
            "/usr/bin/cset set -l",
            "quietcore cset set -l",
            "./cset set -l",
        ] {
            assert_eq!(
                args_of(line).as_deref(),
                Some(&["set".to_owned(), "-l".to_owned()][..]),
                "{line}"
            );
        }
        for line in [
            "quietcore",
            "quietcore undo",
            "quietcore cpus cset",
            "/opt/cset/quietcore inspect",
            "csets set -l",
        ] {
            assert_eq!(args_of(line), None, "{line}");
        }
    }
}
