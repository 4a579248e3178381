//! `study run --on HOST`: the study runs on another machine, which needs a shell and the server of ssh, and its results come here.
//!
//! That machine conducts its study by itself; the link only hands out what is there. So a link that breaks disturbs nothing, and
//! this directory is the only one that has to last.

mod conduct;
mod link;
mod note;
pub mod on_board;
mod words;

use super::cooling;
use super::directory::{self, Directory};
use super::foresee::Written;
use super::outcome::Outcome;
use super::reboots::Consent;
use crate::{CommandError, Screen, Status};
use clap::ValueEnum;
use conduct::{Board, End, Ours};
use link::Ssh;
use machine::parse_duration;
use note::Note;
use root::input;
use session::Session;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::Study;
use study::board::check_host;
use words::State;

/// How the name of our directory on a board begins.
const DIRECTORY: &str = ".quietcore-study-";

/// The longest program.
const MOST_PROGRAM: u64 = 512 << 20;

/// How long a board may be silent beyond what its runs take.
const SILENCE: Duration = Duration::from_secs(240);

/// Options of a study that runs on another machine.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// It runs on this machine, over ssh; its results come here
    #[arg(long, value_name = "[USER@]HOST")]
    on: Option<String>,
    /// With --on: how ssh is called, as a shell reads it [default: ssh]
    #[arg(long, value_name = "COMMAND")]
    ssh: Option<String>,
    /// With --on: the static quietcore that runs there, of the same version [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// With --on: the directory there in which ours is made [default: where a login begins]
    #[arg(long, value_name = "DIR")]
    there: Option<String>,
    /// With --on: what was made there stays when the study has ended
    #[arg(long)]
    keep: bool,
    /// With --on: how long it may be silent or out of reach beyond three times what a run takes [default: 4min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    on_patience: Option<Duration>,
}

/// What this program does on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Hands out what a study says.
    Follow,
    /// Runs it.
    Conduct,
}

impl Args {
    /// Whether a machine is named.
    ///
    /// # Errors
    /// A name that is none, or options of another machine where none is named.
    pub fn is_named(&self) -> Result<bool, CommandError> {
        let named = [
            ("--ssh", self.ssh.is_some()),
            ("--binary", self.binary.is_some()),
            ("--there", self.there.is_some()),
            ("--keep", self.keep),
            ("--on-patience", self.on_patience.is_some()),
        ];
        match (&self.on, named.iter().find(|(_, is_there)| *is_there)) {
            (None, Some((option, _))) => Err(CommandError::usage(
                format!("{option} is an option of another machine"),
                "this study runs on this one",
                "add --on HOST, or leave it out",
            )),
            (None, None) => Ok(false),
            (Some(host), _) => match check_host(host) {
                Ok(()) => Ok(true),
                Err(why) => Err(CommandError::usage(
                    format!("{:?} cannot be the name of a machine", report::safe(host)),
                    why,
                    "name one as ssh knows it: --on USER@HOST",
                )),
            },
        }
    }
}

/// What a board is asked to do.
///
/// # Errors
/// This is none, or what fails there.
pub fn on_board(session: &Session, role: Role, screen: &mut Screen) -> Result<Status, CommandError> {
    match role {
        Role::Follow => on_board::follow(),
        Role::Conduct => on_board::conduct(session, screen),
    }
}

/// Refuses what can only be said of this machine.
pub fn no_plan() -> CommandError {
    CommandError::usage(
        "what a study makes on another machine is not known here",
        "its plan needs the machine itself",
        "leave --on out to see cells and order, or run `quietcore study plan` there",
    )
}

/// Runs what is left of a study there, and has the results here.
///
/// # Errors
/// What is wrong with the study or its directory, a board that cannot be reached or cannot run it, and what failed there.
pub fn carry_out(
    session: &Session,
    written: &Written,
    out: &Path,
    args: &Args,
    consent: Consent,
    stop: &AtomicBool,
    screen: &mut Screen,
) -> Result<Status, CommandError> {
    refuse_boots(written.study(), consent)?;
    let Some(host) = args.on.clone() else {
        return Err(no_plan());
    };
    let (study, bytes) = (written.study(), written.bytes());
    let record = directory::begun(out, study, bytes)?;
    let mut note = remembered(out, &host, args, record.is_some())?;
    let directory = match record {
        Some(record) => Some(Directory::of(out, study, bytes, record)?),
        None => None,
    };
    if let Some(directory) = directory.as_ref().filter(|_| note.name.is_none())
        && is_whole(directory)?
    {
        Outcome::of(directory)?.show(screen);
        return Ok(Status::Done);
    }
    let program = input::bytes(
        args.binary.as_deref().unwrap_or(Path::new("/proc/self/exe")),
        MOST_PROGRAM,
    )
    .map_err(|error| CommandError {
        status: Status::Usage,
        ..error.into()
    })?;
    let patience = args.on_patience.unwrap_or(SILENCE);
    let cooling = study.cool_to_c.map_or(Duration::ZERO, |_| cooling::AT_MOST);
    let run = study.each.saturating_add(study.cool_down);
    let mut board = Board {
        ssh: Ssh {
            words: args.ssh.clone().unwrap_or_else(|| "ssh".to_owned()),
            host,
        },
        there: note.there(session)?,
        program,
        study,
        bytes,
        out,
        directory,
        ours: Ours::Nothing,
        silence: run
            .saturating_mul(3)
            .saturating_add(cooling)
            .saturating_add(patience),
        stop,
    };
    note.write(out)?;
    let end = board.conduct(screen);
    match end {
        Ok(End::There(ended)) => {
            clear(&board, &mut note, args, screen)?;
            let status = ended.told(&board.host())?;
            if let (Status::Done, Some(directory)) = (status, &board.directory) {
                Outcome::of(directory)?.show(screen);
            }
            Ok(status)
        }
        Ok(End::Stopped(State::Runs)) => {
            screen.note(&format!(
                "interrupted, but {} could not be told: the study goes on there; the same command picks it up\n",
                board.host()
            ));
            Ok(Status::Failed)
        }
        Ok(End::Stopped(_)) => {
            clear(&board, &mut note, args, screen)?;
            screen.note("interrupted; the same command goes on\n");
            Ok(Status::Failed)
        }
        Err(error) => {
            // A program that cannot do its work there is nothing to come back to.
            if board.ours == Ours::Program {
                clear(&board, &mut note, args, screen)?;
            }
            Err(error)
        }
    }
}

/// A board that restarts between its runs would need this program to be started there again, by its own unit, in a directory
/// that is ours to remove.
fn refuse_boots(study: &Study, consent: Consent) -> Result<(), CommandError> {
    if consent == Consent::Missing && !study.needs_boots() {
        return Ok(());
    }
    Err(CommandError::usage(
        "a study over ssh restarts no machine",
        "what goes on after a restart would be a program in a directory that is removed again",
        "copy quietcore there and run `quietcore study run FILE --out DIR --reboot` on that machine; or leave levels of the boot \
         line out",
    ))
}

/// Which machine the results are from, or are to be from.
fn remembered(out: &Path, host: &str, args: &Args, has_record: bool) -> Result<Note, CommandError> {
    let other = |whose: &str| {
        CommandError::usage(
            format!(
                "{} belongs to something else",
                report::safe(&out.display().to_string())
            ),
            format!("its results are from {whose}"),
            "name another directory with --out; results of different machines are never mixed",
        )
    };
    match note::read(out)? {
        Some(note) if note.host != host => Err(other(&report::safe(&note.host))),
        Some(note) if note.name.is_some() && note.above != args.there => Err(CommandError::usage(
            "the study is in another directory there",
            format!(
                "it was begun in {}",
                report::safe(note.above.as_deref().unwrap_or("~"))
            ),
            "say --there as it was said then",
        )),
        Some(note) => Ok(Note {
            above: args.there.clone(),
            ..note
        }),
        None if has_record => Err(other("this machine")),
        None => Ok(Note {
            host: host.to_owned(),
            above: args.there.clone(),
            name: None,
        }),
    }
}

fn is_whole(directory: &Directory) -> Result<bool, CommandError> {
    let runs = directory.study.cells.len() * directory.study.repetitions;
    Ok(directory.done()?.len() == runs)
}

/// Leaves nothing of ours there, unless it is to stay.
fn clear(board: &Board, note: &mut Note, args: &Args, screen: &Screen) -> Result<(), CommandError> {
    let place = format!("{}:{}", board.host(), report::safe(&board.there.text()));
    if args.keep {
        screen.note(&format!("{place} stays\n"));
    } else if let Err(why) = board.remove() {
        screen.note(&format!("{place} could not be removed: {why}\n"));
        return Ok(());
    }
    note.name = None;
    note.write(board.out)
}
