//! Implements the command line of SUSE's cset 1.6, on cgroup v1 and v2. All messages, including errors, go to standard
//! output, as its callers expect. Exit status: 0, 1 for a wrong command, 2 for a failure.
//!
//! The implementation is ours: a shield is an `apply` with a journal, and `shield --reset` restores the former state.

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

use options::{Flag, ParsedOptions};
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use talk::CsetOutput;
use terminal::Screen;

/// Why a command failed.
#[derive(Debug)]
pub enum CsetError {
    /// It failed; exit status 2.
    Failed {
        /// The message after `**>`.
        what: String,
        /// Lines after it.
        more: Vec<String>,
    },
    /// Wrong options: printed to standard error with the usage; exit status 2.
    Usage(String),
    /// Unknown or incomplete command; exit status 1.
    Command(Vec<String>),
}

impl CsetError {
    fn failed(what: impl Into<String>) -> CsetError {
        CsetError::Failed {
            what: what.into(),
            more: Vec::new(),
        }
    }
}

impl From<Failure> for CsetError {
    fn from(error: Failure) -> CsetError {
        let mut more = vec![error.next];
        if error.status == Status::Denied {
            more.push("insufficient permissions, you probably need to be root".to_owned());
        }
        CsetError::Failed {
            what: format!("{}: {}", error.what, error.why),
            more,
        }
    }
}

impl From<apply::ApplyError> for CsetError {
    fn from(error: apply::ApplyError) -> CsetError {
        match error {
            // In the form that callers expect: the kernel's error number and text first.
            apply::ApplyError::RolledBack {
                why,
                undone,
                errno: Some(errno),
                ..
            } => CsetError::Failed {
                what: format!("[Errno {errno}] {}", root::errno_text(errno)),
                more: vec![why, undone],
            },
            error => Failure::from(error).into(),
        }
    }
}

impl From<plan::PlanRefusal> for CsetError {
    fn from(refusal: plan::PlanRefusal) -> CsetError {
        Failure::from(refusal).into()
    }
}

impl From<root::RootError> for CsetError {
    fn from(error: root::RootError) -> CsetError {
        Failure::from(error).into()
    }
}

/// One command.
struct CsetCommand {
    name: &'static str,
    /// The text after its name in a usage line.
    operands: &'static str,
    flags: &'static [Flag],
    run: fn(&Session, &ParsedOptions, &mut CsetOutput) -> Result<Status, CsetError>,
}

/// The options of each command.
pub fn all_flags() -> impl Iterator<Item = &'static [Flag]> {
    COMMANDS.iter().map(|command| command.flags)
}

const COMMANDS: &[&CsetCommand] = &[&shield::COMMAND, &proc::COMMAND, &set::COMMAND];

/// Runs one `cset` command line.
pub fn run(args: &[OsString], session: &Session, screen: &mut Screen) -> Status {
    let mut talk = CsetOutput::new(session, screen);
    match global(session, args, &mut talk) {
        Ok(status) => status,
        Err(CsetError::Failed { what, more }) => {
            talk.print(&format!("**> {what}"));
            more.iter().for_each(|line| talk.print(line));
            Status::Usage
        }
        Err(CsetError::Command(lines)) => {
            lines.iter().for_each(|line| talk.print(line));
            Status::Failed
        }
        Err(CsetError::Usage(what)) => {
            talk.print_error(&what);
            Status::Usage
        }
    }
}

/// Parses the words before the command, which either end the run or lead to the command.
fn global(session: &Session, args: &[OsString], talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let mut words = args.iter().map(|word| word.to_string_lossy());
    let mut used = 0;
    while let Some(word) = words.next() {
        used += 1;
        let mut value = || {
            used += 1;
            let missing = || CsetError::Command(vec!["not enough arguments".to_owned()]);
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
                talk.print(talk::VERSION);
                return Ok(Status::Done);
            }
            "-c" | "copyright" | "copying" => {
                talk.print(help::COPYRIGHT);
                return Ok(Status::Done);
            }
            name => {
                let command = chosen(name)?;
                return one(session, command, args.get(used..).unwrap_or_default(), talk);
            }
        }
    }
    talk.print_error(help::NOTHING);
    Ok(Status::Failed)
}

fn one(
    session: &Session,
    command: &CsetCommand,
    args: &[OsString],
    talk: &mut CsetOutput,
) -> Result<Status, CsetError> {
    if args
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "-h" || word == "--help")
    {
        talk.raw(&help::usage(command));
        return Ok(Status::Done);
    }
    let given = options::parse(command.flags, args).map_err(|refused| match refused {
        CsetError::Usage(what) => CsetError::Usage(help::wrong(command, &what)),
        other => other,
    })?;
    talk.verbose(given.count("verbose"));
    (command.run)(session, &given, talk)
}

/// The command with this name, or with this unique prefix.
fn chosen(name: &str) -> Result<&'static CsetCommand, CsetError> {
    let fits: Vec<&&CsetCommand> = COMMANDS
        .iter()
        .filter(|command| command.name.starts_with(name))
        .collect();
    let hint = "Try \"cset help\" for a list of supported commands".to_owned();
    match fits.as_slice() {
        [command] => Ok(command),
        [] => Err(CsetError::Command(vec![format!("Unknown command: {name}"), hint])),
        several => {
            let names: Vec<&str> = several.iter().map(|command| command.name).collect();
            Err(CsetError::Command(vec![
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
    fn commands_are_found_by_unique_prefix() {
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
            Err(CsetError::Command(lines)) => lines.join("|"),
            _ => String::new(),
        };
        assert_eq!(lines("s"), "Ambiguous command: s|Candidates are: shield, set");
        assert_eq!(
            lines("nonsense"),
            "Unknown command: nonsense|Try \"cset help\" for a list of supported commands"
        );
    }
}
