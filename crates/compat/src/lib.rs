//! Runs the command lines of other tools with quietcore. A front end runs if the binary has its name (`cset ...`) or if its
//! name is the first word (`quietcore cset ...`). It keeps the exit codes of the original tool.

pub mod bitcalc;
mod count_ticks;
mod cset;
pub mod decoders;
mod partrt;
mod systress;

use root::Status;
use session::Session;
use std::ffi::OsString;
use std::path::Path;
use terminal::{Screen, StandardError};

/// Runs a front end with its arguments, without its own name.
type FrontEnd = fn(&[OsString], &Session, &mut Screen) -> Status;

/// The front ends: one line each.
const FRONT_ENDS: &[(&str, FrontEnd)] = &[
    ("cset", cset::run),
    ("partrt", partrt::run),
    ("bitcalc", bitcalc::run),
    ("count_ticks", count_ticks::run),
];

/// The result of a command line of another tool.
#[derive(Debug, PartialEq, Eq)]
pub enum CompatOutcome {
    /// It was carried out.
    Finished(Status),
    /// quietcore should run these words, its own name first.
    Instead(Vec<OsString>),
}

/// Runs the front end for a command line; `None` if the command line is for quietcore itself.
pub fn run(command_line: &[OsString]) -> Option<CompatOutcome> {
    let (name, args) = chosen(command_line)?;
    let mut screen = Screen::plain();
    if name == systress::NAME {
        return Some(systress::translate(args, &mut screen));
    }
    let (_, front_end) = FRONT_ENDS.iter().find(|(known, _)| *known == name)?;
    let session = Session::live(&StandardError::Normal);
    let status = front_end(args, &session, &mut screen);
    Some(CompatOutcome::Finished(screen.final_status(status)))
}

/// The front end for a command line, and its arguments.
fn chosen(words: &[OsString]) -> Option<(&'static str, &[OsString])> {
    let names = || FRONT_ENDS.iter().map(|(name, _)| *name).chain([systress::NAME]);
    let named = |name: &OsString| names().find(|known| name.to_str() == Some(*known));
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
        Some(args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn a_front_end_is_selected_by_binary_name_or_first_word() {
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
