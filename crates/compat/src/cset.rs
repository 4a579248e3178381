//! `cset`: the command line of SUSE's cset 1.6, on cgroup v1 and v2. What it says, errors too, goes to standard
//! output, as its callers know it; it ends with 0, with 1 for a wrong command, with 2 when it failed.
//!
//! What is behind it is ours: a shield is an `apply` with a journal, and `shield --reset` gives the former state back.

mod help;
mod moving;
pub mod options;
mod place;
mod proc;
mod set;
mod shield;
pub mod spec;
mod tables;
mod talk;
mod tree;

use options::{Flag, Given};
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use talk::Talk;
use terminal::Screen;

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub enum Refused {
    /// It failed; ends with 2.
    Said {
        /// What is said after `**>`.
        what: String,
        /// Lines after it.
        more: Vec<String>,
    },
    /// Wrong options: said on standard error with the usage; ends with 2.
    Usage(String),
    /// No such command, or not enough of it; ends with 1.
    Command(Vec<String>),
}

impl Refused {
    fn said(what: impl Into<String>) -> Refused {
        Refused::Said {
            what: what.into(),
            more: Vec::new(),
        }
    }
}

impl From<Failure> for Refused {
    fn from(error: Failure) -> Refused {
        let mut more = vec![error.next];
        if error.status == Status::Denied {
            more.push("insufficient permissions, you probably need to be root".to_owned());
        }
        Refused::Said {
            what: format!("{}: {}", error.what, error.why),
            more,
        }
    }
}

impl From<apply::ApplyError> for Refused {
    fn from(error: apply::ApplyError) -> Refused {
        match error {
            // As callers know it: the kernel's own number and words first.
            apply::ApplyError::RolledBack {
                why,
                undone,
                errno: Some(errno),
                ..
            } => Refused::Said {
                what: format!("[Errno {errno}] {}", words_of(errno)),
                more: vec![why, undone],
            },
            error => Failure::from(error).into(),
        }
    }
}

/// The kernel's words for an error number.
fn words_of(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl From<plan::Refusal> for Refused {
    fn from(refusal: plan::Refusal) -> Refused {
        Failure::from(refusal).into()
    }
}

impl From<root::RootError> for Refused {
    fn from(error: root::RootError) -> Refused {
        Failure::from(error).into()
    }
}

/// One command.
struct Command {
    name: &'static str,
    /// What stands behind its name in a usage line.
    operands: &'static str,
    flags: &'static [Flag],
    run: fn(&Session, &Given, &mut Talk) -> Result<Status, Refused>,
}

/// The options of each command.
pub fn all_flags() -> impl Iterator<Item = &'static [Flag]> {
    COMMANDS.iter().map(|command| command.flags)
}

const COMMANDS: &[&Command] = &[&shield::COMMAND, &proc::COMMAND, &set::COMMAND];

/// Runs one `cset` command line.
pub fn run(args: &[OsString], session: &Session, screen: &mut Screen) -> Status {
    let mut talk = Talk::new(session, screen);
    match global(session, args, &mut talk) {
        Ok(status) => status,
        Err(Refused::Said { what, more }) => {
            talk.say(&format!("**> {what}"));
            more.iter().for_each(|line| talk.say(line));
            Status::Usage
        }
        Err(Refused::Command(lines)) => {
            lines.iter().for_each(|line| talk.say(line));
            Status::Failed
        }
        Err(Refused::Usage(what)) => {
            talk.aside(&what);
            Status::Usage
        }
    }
}

/// What stands before the command, which ends it or goes on to the command.
fn global(session: &Session, args: &[OsString], talk: &mut Talk) -> Result<Status, Refused> {
    let mut words = args.iter().map(|word| word.to_string_lossy());
    let mut used = 0;
    while let Some(word) = words.next() {
        used += 1;
        let mut value = || {
            used += 1;
            let missing = || Refused::Command(vec!["not enough arguments".to_owned()]);
            words.next().ok_or_else(missing)
        };
        match word.as_ref() {
            "-l" | "--log" => talk.log_to(&value()?, args)?,
            "-m" | "--machine" => talk.for_programs(),
            "-x" | "--tohex" => {
                let spec = value()?;
                let cpus = spec::cpus(&spec, tree::last_cpu(session))?;
                talk.raw(&format!("{}\n", spec::hex(&cpus)));
                return Ok(Status::Done);
            }
            "-h" | "--help" | "help" => return help::show(words.next().as_deref(), talk),
            "-v" | "--version" | "version" => {
                talk.say(talk::VERSION);
                return Ok(Status::Done);
            }
            "-c" | "copyright" | "copying" => {
                talk.say(help::COPYRIGHT);
                return Ok(Status::Done);
            }
            name => {
                let command = chosen(name)?;
                return one(session, command, args.get(used..).unwrap_or_default(), talk);
            }
        }
    }
    talk.aside(help::NOTHING);
    Ok(Status::Failed)
}

fn one(session: &Session, command: &Command, args: &[OsString], talk: &mut Talk) -> Result<Status, Refused> {
    if args
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "-h" || word == "--help")
    {
        talk.raw(&help::usage(command));
        return Ok(Status::Done);
    }
    let given = options::parse(command.flags, args).map_err(|refused| match refused {
        Refused::Usage(what) => Refused::Usage(help::wrong(command, &what)),
        other => other,
    })?;
    talk.verbose(given.count("verbose"));
    (command.run)(session, &given, talk)
}

/// The command of a name, or of a beginning that only one has.
fn chosen(name: &str) -> Result<&'static Command, Refused> {
    let fits: Vec<&&Command> = COMMANDS
        .iter()
        .filter(|command| command.name.starts_with(name))
        .collect();
    let hint = "Try \"cset help\" for a list of supported commands".to_owned();
    match fits.as_slice() {
        [command] => Ok(command),
        [] => Err(Refused::Command(vec![format!("Unknown command: {name}"), hint])),
        several => {
            let names: Vec<&str> = several.iter().map(|command| command.name).collect();
            Err(Refused::Command(vec![
                format!("Ambiguous command: {name}"),
                format!("Candidates are: {}", names.join(", ")),
            ]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_by_any_beginning_that_only_one_has() {
        for (word, name) in [
            ("sh", "shield"),
            ("shield", "shield"),
            ("se", "set"),
            ("p", "proc"),
            ("pro", "proc"),
        ] {
            assert_eq!(chosen(word).map(|command| command.name).ok(), Some(name));
        }
        let lines = |word| match chosen(word) {
            Err(Refused::Command(lines)) => lines.join("|"),
            _ => String::new(),
        };
        assert_eq!(lines("s"), "Ambiguous command: s|Candidates are: shield, set");
        assert_eq!(
            lines("nonsense"),
            "Unknown command: nonsense|Try \"cset help\" for a list of supported commands"
        );
    }
}
