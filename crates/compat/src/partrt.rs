//! Implements the command line of OpenEneaLinux's partrt 1.2, on cgroup v1 and v2. Results go to standard output, errors
//! to standard error after `partrt: Failed execution:`. Every failure has exit status 1, as its callers expect.

mod create;
pub mod getopts;
mod list;
mod migrate;
pub mod names;
mod run;
mod undo;
mod usage;

use getopts::{ParsedOption, getopts};
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use terminal::Screen;
use terminal::Volume;

/// Names of the two partitions.
struct PartitionNames {
    rt: String,
    rest: String,
}

/// Why a command ended early.
#[derive(Debug)]
enum PartrtError {
    /// The user requested help.
    Usage,
    /// One line.
    Message(String),
    /// One line, with the shell's exit status for a program that cannot be started.
    NotStarted(u8, String),
}

impl From<Failure> for PartrtError {
    fn from(error: Failure) -> PartrtError {
        let message = format!("{}: {}; {}", error.what, error.why, error.next);
        match error.status {
            Status::Program(code @ 126..) => PartrtError::NotStarted(code, message),
            _ => PartrtError::Message(message),
        }
    }
}

/// Runs one `partrt` command.
pub fn run(args: &[OsString], session: &Session, screen: &mut Screen) -> Status {
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let failed = match command(session, &words, args, screen) {
        Ok(status) => return status,
        Err(failed) => failed,
    };
    let (status, message) = match failed {
        PartrtError::Usage => {
            screen.text(usage::USAGE);
            return Status::Done;
        }
        PartrtError::Message(text) => (Status::Failed, text),
        PartrtError::NotStarted(code, text) => (Status::Program(code), text),
    };
    screen.note(&format!("partrt: Failed execution: {message}\n"));
    status
}

const COMMANDS: &str = "create undo run move list";

fn command(session: &Session, words: &[String], args: &[OsString], screen: &mut Screen) -> Result<Status, PartrtError> {
    let mut names = PartitionNames {
        rt: names::RT.to_owned(),
        rest: names::NRT.to_owned(),
    };
    let (found, rest) = getopts(":hn:r:vVwx", words);
    for one in found {
        match one {
            ParsedOption::Option('h', _) => return Err(PartrtError::Usage),
            ParsedOption::Option('n', Some(name)) => names.rest = name,
            ParsedOption::Option('r', Some(name)) => names.rt = name,
            ParsedOption::Option('v', _) => screen.volume = Volume::Verbose,
            ParsedOption::Option('V', _) => {
                screen.text(&usage::version());
                return Ok(Status::Done);
            }
            ParsedOption::Option(..) => {}
            wrong_one => return Err(wrong(&wrong_one, "")),
        }
    }
    // Programs get their arguments as raw bytes, which need not be text.
    let exact = args.get(args.len().saturating_sub(rest.len())..).unwrap_or_default();
    let Some((name, words)) = rest.split_first() else {
        screen.note("Expected sub-command. Use 'partrt -h' for help.\n");
        return Ok(Status::Failed);
    };
    match name.as_str() {
        "create" => create::create(session, words, &names, screen),
        "undo" => undo::undo(session, words, &names, screen),
        "run" => run::run(session, words, exact.get(1..).unwrap_or_default()),
        "move" => migrate::migrate(session, words, screen),
        "list" => list::list(session, words, screen),
        _ => {
            screen.note(&format!(
                "Illegal sub-command: '{}'. Valid commands: {COMMANDS}. Use 'partrt -h' for help.\n",
                report::safe(name)
            ));
            return Ok(Status::Failed);
        }
    }
    .map(|()| Status::Done)
}

/// The message for a wrong option; `create` prints it with a dash before the letter.
fn wrong(found: &ParsedOption, dash: &str) -> PartrtError {
    PartrtError::Message(match found {
        ParsedOption::NoValue(letter) => format!("Invalid option: -{letter} missing mandatory argument"),
        ParsedOption::Unknown(letter) | ParsedOption::Option(letter, _) => {
            format!("Invalid option: {dash}{letter} ")
        }
    })
}

/// Prints an additional message if `-v` is given.
fn detail(screen: &mut Screen, text: &str) {
    if screen.volume >= Volume::Verbose {
        screen.note(text);
    }
}

/// The CPUs of a mask in bitcalc's syntax; `None` for the mask 0.
fn mask(text: &str) -> Result<Option<machine::CpuSet>, PartrtError> {
    let bits = super::bitcalc::evaluate(text).map_err(|error| PartrtError::Message(error.to_string()))?;
    let cpus = super::bitcalc::cpus(&bits).map_err(|error| PartrtError::Message(error.to_string()))?;
    Ok(Some(cpus).filter(|cpus| !cpus.is_empty()))
}

/// The message for a mask that is not within a partition.
fn outside(cpus: &machine::CpuSet, partition: &str) -> PartrtError {
    PartrtError::Message(format!(
        "Invalid cpumask: 0x{} contains one or more CPUs that are not part of {}",
        cpus.to_mask(0).replace(',', ""),
        report::safe(partition)
    ))
}
