//! `study run --on HOST`: the study runs on another machine, which needs a shell and the server of ssh, and its results come here.
//!
//! That machine conducts its study by itself; the link only hands out what is there. So a link that breaks disturbs nothing, and
//! this directory is the only one that has to last.

mod board;
mod board_side;
mod link;
mod messages;
mod note;

use crate::directory::{self, Directory};
use crate::outcome::Outcome;
use crate::{Consent, ShowOutcome, StudyRun, cooling};
use board::{Board, BoardEnd, Ours};
use link::Ssh;
use messages::StudyState;
use note::Note;
use root::{Failure, Status, input};
use session::Session;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::Study;

/// How the name of our directory on a board begins.
const DIRECTORY: &str = ".quietcore-study-";

/// The longest program.
const MOST_PROGRAM: u64 = 512 << 20;

/// How long a board may be silent beyond what its runs take.
const SILENCE: Duration = Duration::from_secs(240);

/// Whether what was made on a board stays there when the study has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardFiles {
    /// It stays.
    Kept,
    /// It is removed.
    Removed,
}

/// The machine that a study runs on, over ssh.
#[derive(Clone, Debug)]
pub struct BoardOptions {
    /// Its name, as ssh knows it.
    pub host: String,
    /// How ssh is called, as a shell reads it; without it `ssh`.
    pub ssh: Option<String>,
    /// The static quietcore that runs there, of the same version; without it this one.
    pub program: Option<PathBuf>,
    /// The directory there in which ours is made; without it where a login begins.
    pub above: Option<String>,
    /// Whether what was made there stays.
    pub files: BoardFiles,
    /// How long it may be silent or out of reach beyond three times what a run takes.
    pub patience: Option<Duration>,
}

/// What this program does on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends what a study reports.
    Follow,
    /// Runs it.
    Conduct,
}

/// Does what a board is asked to do. `out` is the link.
///
/// # Errors
/// This is no board, or what fails there.
pub fn on_board(
    session: &Session,
    role: Role,
    out: &mut dyn Write,
    show: &mut ShowOutcome,
) -> Result<Status, Failure> {
    match role {
        Role::Follow => board_side::follow(out),
        Role::Conduct => board_side::conduct(session, show),
    }
}

/// Refuses what can only be said of this machine.
pub fn no_plan() -> Failure {
    Failure::usage(
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
    run: &StudyRun,
    options: &BoardOptions,
    stop: &AtomicBool,
    show: &mut ShowOutcome,
) -> Result<Status, Failure> {
    let (study, bytes, out) = (run.study.study(), run.study.bytes(), run.out);
    refuse_boots(study, run.consent)?;
    let record = directory::begun(out, study, bytes)?;
    let mut note = remembered(out, options, record.is_some())?;
    let directory = match record {
        Some(record) => Some(Directory::of(out, study, bytes, record)?),
        None => None,
    };
    if let Some(directory) = directory.as_ref().filter(|_| note.name.is_none())
        && is_whole(directory)?
    {
        show(&Outcome::of(directory)?);
        return Ok(Status::Done);
    }
    let program = input::bytes(
        options.program.as_deref().unwrap_or(Path::new("/proc/self/exe")),
        MOST_PROGRAM,
    )
    .map_err(|error| Failure {
        status: Status::Usage,
        ..error.into()
    })?;
    let patience = options.patience.unwrap_or(SILENCE);
    let cooling = study.cool_to_c.map_or(Duration::ZERO, |_| cooling::AT_MOST);
    let one_run = study.each.saturating_add(study.cool_down);
    let mut board = Board {
        session,
        ssh: Ssh {
            words: options.ssh.clone().unwrap_or_else(|| "ssh".to_owned()),
            host: options.host.clone(),
        },
        there: note.there(session)?,
        program,
        study,
        bytes,
        out,
        directory,
        ours: Ours::Nothing,
        silence: one_run
            .saturating_mul(3)
            .saturating_add(cooling)
            .saturating_add(patience),
        stop,
    };
    note.write(out)?;
    let end = board.conduct();
    match end {
        Ok(BoardEnd::There(ended)) => {
            clear(&board, &mut note, options.files)?;
            let status = ended.told(&board.host())?;
            if let (Status::Done, Some(directory)) = (status, &board.directory) {
                show(&Outcome::of(directory)?);
            }
            Ok(status)
        }
        Ok(BoardEnd::Stopped(StudyState::Runs)) => {
            session.note(&format!(
                "interrupted, but {} could not be told: the study goes on there; the same command picks it up\n",
                board.host()
            ));
            Ok(Status::Failed)
        }
        Ok(BoardEnd::Stopped(_)) => {
            clear(&board, &mut note, options.files)?;
            session.note("interrupted; the same command goes on\n");
            Ok(Status::Failed)
        }
        Err(error) => {
            // A program that cannot do its work there is nothing to come back to.
            if board.ours == Ours::Program {
                clear(&board, &mut note, options.files)?;
            }
            Err(error)
        }
    }
}

/// A board that restarts between its runs would need this program to be started there again, by its own unit, in a directory
/// that is ours to remove.
fn refuse_boots(study: &Study, consent: Consent) -> Result<(), Failure> {
    if consent == Consent::Missing && !study.needs_boots() {
        return Ok(());
    }
    Err(Failure::usage(
        "a study over ssh restarts no machine",
        "what goes on after a restart would be a program in a directory that is removed again",
        "copy quietcore there and run `quietcore study run FILE --out DIR --reboot` on that machine; or leave levels of the boot \
         line out",
    ))
}

/// Which machine the results are from, or are to be from.
fn remembered(out: &Path, options: &BoardOptions, has_record: bool) -> Result<Note, Failure> {
    let other = |whose: &str| {
        Failure::usage(
            format!(
                "{} belongs to something else",
                report::safe(&out.display().to_string())
            ),
            format!("its results are from {whose}"),
            "name another directory with --out; results of different machines are never mixed",
        )
    };
    match note::read(out)? {
        Some(note) if note.host != options.host => Err(other(&report::safe(&note.host))),
        Some(note) if note.name.is_some() && note.above != options.above => Err(Failure::usage(
            "the study is in another directory there",
            format!(
                "it was begun in {}",
                report::safe(note.above.as_deref().unwrap_or("~"))
            ),
            "say --there as it was said then",
        )),
        Some(note) => Ok(Note {
            above: options.above.clone(),
            ..note
        }),
        None if has_record => Err(other("this machine")),
        None => Ok(Note {
            host: options.host.clone(),
            above: options.above.clone(),
            name: None,
        }),
    }
}

fn is_whole(directory: &Directory) -> Result<bool, Failure> {
    let runs = directory.study.cells.len() * directory.study.repetitions;
    Ok(directory.done()?.len() == runs)
}

/// Leaves nothing of ours there, unless it is to stay.
fn clear(board: &Board, note: &mut Note, files: BoardFiles) -> Result<(), Failure> {
    let place = format!("{}:{}", board.host(), report::safe(&board.there.text()));
    if files == BoardFiles::Kept {
        board.session.note(&format!("{place} stays\n"));
    } else if let Err(why) = board.remove() {
        board
            .session
            .note(&format!("{place} could not be removed: {why}\n"));
        return Ok(());
    }
    note.name = None;
    note.write(board.out)
}
