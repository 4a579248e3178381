//! Implements `study run --on HOST`: the study runs on another machine, which needs a shell and an ssh server. The results
//! are copied here.
//!
//! That machine runs its study independently; the link only transfers results. So a broken link disturbs nothing, and only
//! the directory here has to be permanent.

mod board;
mod board_side;
mod link;
mod messages;
mod note;

use crate::directory::{self, Directory};
use crate::outcome::StudyOutcome;
use crate::{Consent, OutcomePresenter, StudyRun, cooling};
use board::{Board, BoardContent, BoardEnd};
use link::Ssh;
use messages::StudyState;
use note::BoardNote;
use root::{Failure, Status, input};
use session::Session;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use study::Study;

/// The prefix of our directory's name on a board.
const DIRECTORY: &str = ".quietcore-study-";

/// The maximum size of the program: one with all symbols is smaller.
const MOST_PROGRAM: u64 = 512 << 20;

/// How long a board may be silent beyond the duration of its runs.
const SILENCE: Duration = Duration::from_secs(240);

/// Whether our files stay on a board after the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardFiles {
    /// They stay.
    Keep,
    /// They are removed.
    Removed,
}

/// The machine that a study runs on, over ssh.
#[derive(Clone, Debug)]
pub struct BoardOptions {
    /// Its host name for ssh.
    pub host: String,
    /// The ssh command, as shell text; by default `ssh`.
    pub ssh: Option<String>,
    /// The static quietcore to run there, of the same version; by default this one.
    pub program: Option<PathBuf>,
    /// The parent of our directory there; by default the login directory.
    pub above: Option<String>,
    /// Whether our files stay.
    pub files: BoardFiles,
    /// How long it may be silent or unreachable, beyond three times the duration of a run.
    pub patience: Option<Duration>,
}

/// The role of this program on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardRole {
    /// Sends the progress and results of a study.
    Follow,
    /// Runs the study.
    Run,
}

/// Performs the role. `out` is the link.
///
/// # Errors
/// This is not a board, or a failure there.
pub fn on_board(
    session: &Session,
    role: BoardRole,
    out: &mut dyn Write,
    show: &mut OutcomePresenter,
) -> Result<Status, Failure> {
    match role {
        BoardRole::Follow => board_side::follow(out),
        BoardRole::Run => board_side::run(session, show),
    }
}

/// The error for a plan that depends on another machine.
pub fn no_plan() -> Failure {
    Failure::usage(
        "it is unknown what a study does on another machine",
        "its plan depends on that machine",
        "leave out --on to see cells and order, or run `quietcore study plan` there",
    )
}

/// Makes the remaining runs of a study there, and copies the results here.
///
/// # Errors
/// Errors in the study or its directory, a board that is unreachable or cannot run it, and failures there.
pub fn carry_out(
    session: &Session,
    run: &StudyRun,
    options: &BoardOptions,
    stop: &AtomicBool,
    show: &mut OutcomePresenter,
) -> Result<Status, Failure> {
    let (study, bytes, out) = (run.study.study(), run.study.bytes(), run.out);
    refuse_boots(study, run.consent)?;
    let record = directory::started_record(out, study, bytes)?;
    let mut note = remembered(out, options, record.is_some())?;
    let directory = match record {
        Some(record) => Some(Directory::of(out, study, bytes, record)?),
        None => None,
    };
    if let Some(directory) = directory.as_ref().filter(|_| note.name.is_none())
        && is_whole(directory)?
    {
        show(&StudyOutcome::of(directory)?);
        return Ok(Status::Done);
    }
    let mut board = Board {
        session,
        ssh: Ssh {
            words: options.ssh.clone().unwrap_or_else(|| "ssh".to_owned()),
            host: options.host.clone(),
        },
        there: note.there(session)?,
        program: program(options)?,
        study,
        bytes,
        out,
        directory,
        created: BoardContent::Nothing,
        silence: silence(study, options),
        stop,
    };
    note.write(out)?;
    let end = board.run_study();
    conclude(&board, &mut note, options.files, end, show)
}

/// Removes our files where nothing needs them any more, and reports how the study ended.
fn conclude(
    board: &Board,
    note: &mut BoardNote,
    files: BoardFiles,
    end: Result<BoardEnd, Failure>,
    show: &mut OutcomePresenter,
) -> Result<Status, Failure> {
    let session = board.session;
    match end {
        Ok(BoardEnd::There(ended)) => {
            clear(board, note, files)?;
            let status = ended.outcome(&board.host())?;
            if let (Status::Done, Some(directory)) = (status, &board.directory) {
                show(&StudyOutcome::of(directory)?);
            }
            Ok(status)
        }
        Ok(BoardEnd::Stopped(StudyState::Runs)) => {
            session.note(&format!(
                "interrupted, but {} could not be reached: the study continues there; run the same command to \
                 reconnect to it\n",
                board.host()
            ));
            Ok(Status::Failed)
        }
        Ok(BoardEnd::Stopped(_)) => {
            clear(board, note, files)?;
            session.note("interrupted; the same command continues\n");
            Ok(Status::Failed)
        }
        Err(error) => {
            // A program that cannot run there need not be kept for later.
            if board.created == BoardContent::Program {
                clear(board, note, files)?;
            }
            Err(error)
        }
    }
}

/// The program to run there.
fn program(options: &BoardOptions) -> Result<Vec<u8>, Failure> {
    let path = options.program.as_deref().unwrap_or(Path::new("/proc/self/exe"));
    input::bytes(path, MOST_PROGRAM).map_err(|error| Failure {
        status: Status::Usage,
        ..error.into()
    })
}

/// How long the board may be silent.
fn silence(study: &Study, options: &BoardOptions) -> Duration {
    let cooling = study.cool_to_c.map_or(Duration::ZERO, |_| cooling::AT_MOST);
    let one_run = study.each.saturating_add(study.cool_down);
    let most = one_run.saturating_mul(3).saturating_add(cooling);
    most.saturating_add(options.patience.unwrap_or(SILENCE))
}

/// Rejects studies with reboots. A board that reboots between its runs would need its own unit to start this program again,
/// from a directory that we are going to remove.
fn refuse_boots(study: &Study, consent: Consent) -> Result<(), Failure> {
    if consent == Consent::Missing && !study.needs_boots() {
        return Ok(());
    }
    Err(Failure::usage(
        "a study over ssh does not restart the machine",
        "after a restart, it would continue with a program in a directory that is removed again",
        "copy quietcore there and run `quietcore study run FILE --out DIR --reboot` on that machine; or remove the \
         levels of the boot line",
    ))
}

/// The machine that the results are from, or will be from.
fn remembered(out: &Path, options: &BoardOptions, has_record: bool) -> Result<BoardNote, Failure> {
    let other = |owner_name: &str| {
        Failure::usage(
            format!("{} belongs to something else", report::safe_path(out)),
            format!("its results are from {owner_name}"),
            "choose another directory with --out; results of different machines are never mixed",
        )
    };
    match note::read(out)? {
        Some(note) if note.host != options.host => Err(other(&report::safe(&note.host))),
        Some(note) if note.name.is_some() && note.above != options.above => Err(Failure::usage(
            "the study is in another directory there",
            format!(
                "it was started in {}",
                report::safe(note.above.as_deref().unwrap_or("~"))
            ),
            "use the same --remote-dir as then",
        )),
        Some(note) => Ok(BoardNote {
            above: options.above.clone(),
            ..note
        }),
        None if has_record => Err(other("this machine")),
        None => Ok(BoardNote {
            host: options.host.clone(),
            above: options.above.clone(),
            name: None,
        }),
    }
}

fn is_whole(directory: &Directory) -> Result<bool, Failure> {
    let runs = directory.study.cells.len() * directory.study.repetitions;
    Ok(directory.finished_runs()?.len() == runs)
}

/// Removes our files there, unless they are to stay.
fn clear(board: &Board, note: &mut BoardNote, files: BoardFiles) -> Result<(), Failure> {
    let place = format!("{}:{}", board.host(), report::safe(&board.there.text()));
    if files == BoardFiles::Keep {
        board.session.note(&format!("{place} is kept\n"));
    } else if let Err(why) = board.remove() {
        board.session.note(&format!("{place} could not be removed: {why}\n"));
        return Ok(());
    }
    note.name = None;
    note.write(board.out)
}
