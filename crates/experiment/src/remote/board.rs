//! Controls a study on a board from this side: copies the program, starts the study, and saves its results, over repeated links.

use super::link::{LinkEvent, LinkFailure, LinkSession, Ssh};
use super::messages::{BoardReply, BoardRequest, FollowRequest, ProgramIdentity, StudyEnd, StudyState};
use crate::cooling::rest;
use crate::directory::Directory;
use root::Failure;
use session::Session;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::board::{BoardFacts, RemoteDirectory, check_program, targets};
use study::{RunPosition, Study, StudyRecord};

/// The time for the machine there to stop: it undoes a change first.
const STOPPING: Duration = Duration::from_secs(120);

/// The time until a program there sends its first message.
const COMING_UP: Duration = Duration::from_secs(60);

/// A shell adds the signal number to this if a signal ended a program (POSIX, "Exit Status for Commands").
const KILLED: i32 = 128;

/// The pauses between attempts to connect.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
];

/// The maximum number of starts there without a new result: the study's load may be what kills it.
const MOST_STARTS: usize = 3;

/// How the study on a board ended.
pub enum BoardEnd {
    /// The study ended there, and all its results are here.
    There(StudyEnd),
    /// We were stopped; the state of the study there.
    Stopped(StudyState),
}

/// What exists there, as far as this call created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardContent {
    /// Nothing that this call knows of.
    Nothing,
    /// A program that has not run yet.
    Program,
    /// A study, which may have results.
    Study,
}

/// A study on a board.
pub struct Board<'a> {
    /// Where progress is reported.
    pub session: &'a Session,
    /// How the board is reached.
    pub ssh: Ssh,
    /// The place of our files there.
    pub there: RemoteDirectory,
    /// The bytes of its program.
    pub program: Vec<u8>,
    /// The study.
    pub study: &'a Study,
    /// The bytes of its file.
    pub bytes: &'a [u8],
    /// The directory of the results here.
    pub out: &'a Path,
    /// The open directory, as soon as its record is known.
    pub directory: Option<Directory>,
    /// What this call created there.
    pub created: BoardContent,
    /// How long the board may be silent or unreachable.
    pub silence: Duration,
    /// Set when we are to stop.
    pub stop: &'a AtomicBool,
}

/// What this call knows of the board.
struct BoardStatus {
    state: StudyState,
    was_reached: bool,
    received_at: Instant,
    progress: Option<u64>,
    starts: usize,
}

/// Why our directory on the board still exists.
#[derive(Debug)]
pub enum StillThere {
    /// The command there failed, with its message.
    Refused(String),
    /// The link failed, with the message of ssh.
    Link(String),
    /// The command did not run.
    NotTried,
}

impl fmt::Display for StillThere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StillThere::Refused(why) | StillThere::Link(why) => f.write_str(why),
            StillThere::NotTried => f.write_str("it was not tried"),
        }
    }
}

impl Board<'_> {
    /// Follows the study there to its end, and starts it if it does not run.
    ///
    /// # Errors
    /// The board is unreachable, cannot run it, or a result cannot be saved.
    pub fn run_study(&mut self) -> Result<BoardEnd, Failure> {
        let mut known = BoardStatus {
            state: StudyState::Nothing,
            was_reached: false,
            received_at: Instant::now(),
            progress: None,
            starts: 0,
        };
        let mut attempt = 0;
        loop {
            let received_before = known.received_at;
            let why = match self.attempt(&mut known) {
                Ok(ended) => return Ok(BoardEnd::There(ended)),
                Err(LinkFailure::Stopped) => return Ok(BoardEnd::Stopped(known.state)),
                Err(LinkFailure::Failed(error)) => return Err(error),
                // A program that was killed after it had run costs one link.
                Err(LinkFailure::Program(status, errors)) if known.was_reached && status > KILLED => {
                    format!("the program started after it was killed; {errors}")
                }
                Err(LinkFailure::Program(status, errors)) => return Err(self.program_failed(status, &errors)),
                Err(LinkFailure::Link(why)) => why,
            };
            if !known.was_reached {
                return Err(self.unreachable(&why));
            }
            if known.received_at != received_before {
                attempt = 0;
                self.session.note(&format!(
                    "the link to {} was lost ({why}); the study continues there, and quietcore reconnects\n",
                    self.host()
                ));
            }
            if known.received_at.elapsed() > self.silence {
                return Err(self.lost(&why));
            }
            rest(PAUSES.get(attempt).copied().unwrap_or(PAUSES[3]), self.stop);
            attempt += 1;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(BoardEnd::Stopped(known.state));
            }
        }
    }

    /// Removes our directory there.
    ///
    /// # Errors
    /// Why it still exists.
    pub fn remove(&self) -> Result<(), StillThere> {
        let never = AtomicBool::new(false);
        match self.ssh.run(&self.there.remove(), b"", COMING_UP, &never) {
            Ok(ran) if ran.code == Some(0) => Ok(()),
            Ok(ran) => Err(StillThere::Refused(ran.error_lines)),
            Err(LinkFailure::Link(why)) => Err(StillThere::Link(why)),
            Err(_) => Err(StillThere::NotTried),
        }
    }

    /// The name of the board for messages.
    pub fn host(&self) -> String {
        report::safe(&self.ssh.host)
    }

    /// One link, from its first message to its last.
    fn attempt(&mut self, known: &mut BoardStatus) -> Result<StudyEnd, LinkFailure> {
        let ran = self.ssh.run(&self.there.query_command(), b"", COMING_UP, self.stop)?;
        let Some(seen) = BoardFacts::of(&ran.out) else {
            return Err(self.program_failed(ran.code.unwrap_or(1), &ran.error_lines).into());
        };
        check_program(&self.program, &seen.processor).map_err(|why| {
            Failure::usage(
                format!("this quietcore cannot run on {}", self.host()),
                why,
                format!(
                    "select a static quietcore for that machine with --remote-binary FILE; there are {}",
                    targets()
                ),
            )
        })?;
        if !seen.has_program {
            self.copy()?;
            self.created = BoardContent::Program;
        }
        let (session, up) = match self.link_session()? {
            (session, up) if self.is_ours(&up) || up.state == StudyState::Runs => (session, up),
            // A different build without a study is replaced.
            (session, _) => {
                drop(session);
                self.copy()?;
                self.link_session()?
            }
        };
        self.refuse_other_version(&up)?;
        (known.was_reached, known.received_at, known.state) = (true, Instant::now(), up.state);
        self.follow(session, known)
    }

    fn link_session(&self) -> Result<(LinkSession, ProgramIdentity), LinkFailure> {
        let mut session = self.ssh.session(&self.there.follow())?;
        let start = Instant::now();
        loop {
            match session.receive()? {
                LinkEvent::Reply(BoardReply::Up(up)) => return Ok((session, up)),
                _ if self.stop.load(Ordering::Relaxed) => return Err(LinkFailure::Stopped),
                _ if start.elapsed() > COMING_UP => {
                    return Err(LinkFailure::Link(format!(
                        "the program there sent nothing for {} s",
                        COMING_UP.as_secs()
                    )));
                }
                _ => {}
            }
        }
    }

    fn is_ours(&self, up: &ProgramIdentity) -> bool {
        (up.bytes, up.checksum) == (self.program.len(), crc32fast::hash(&self.program))
    }

    fn refuse_other_version(&self, up: &ProgramIdentity) -> Result<(), Failure> {
        let own = env!("CARGO_PKG_VERSION");
        if up.version == own {
            return Ok(());
        }
        Err(Failure::usage(
            format!("the quietcore for {} is a different one", self.host()),
            format!("its version is {}, and this one is {own}", report::safe(&up.version)),
            "select one of this version with --remote-binary FILE",
        ))
    }

    fn copy(&self) -> Result<(), LinkFailure> {
        self.session.note(&format!(
            "copying quietcore ({} KiB) to {}:{}\n",
            self.program.len() / 1024,
            self.host(),
            report::safe(&self.there.text())
        ));
        let line = self.there.copy(self.program.len());
        let ran = self.ssh.run(&line, &self.program, self.silence, self.stop)?;
        match ran.code {
            Some(0) => Ok(()),
            _ => Err(LinkFailure::Failed(Failure::unable(
                format!(
                    "quietcore could not be copied to {}:{}",
                    self.host(),
                    report::safe(&self.there.text())
                ),
                ran.error_lines,
                "free some space there, or choose another directory on that machine with --remote-dir DIR",
            ))),
        }
    }

    /// Handles all messages of one session.
    fn follow(&mut self, mut session: LinkSession, known: &mut BoardStatus) -> Result<StudyEnd, LinkFailure> {
        let here = match &self.directory {
            Some(directory) => directory.finished_runs()?,
            None => Vec::new(),
        };
        let begins = known.state == StudyState::Nothing;
        if begins {
            self.hand_over(&mut session, &here, known)?;
        }
        session.send(&BoardRequest::Go(FollowRequest {
            begins,
            received: known.progress,
            here: here.iter().map(|place| [place.block, place.cell]).collect(),
        }))?;
        known.state = StudyState::Runs;
        self.created = BoardContent::Study;
        let mut stop_requested_at: Option<Instant> = None;
        loop {
            if self.stop.load(Ordering::Relaxed) && stop_requested_at.is_none() {
                self.session.note(&format!("stopping the study on {}\n", self.host()));
                session.send(&BoardRequest::Stop)?;
                stop_requested_at = Some(Instant::now());
            }
            if stop_requested_at.is_some_and(|at| at.elapsed() > STOPPING) {
                return Err(LinkFailure::Stopped);
            }
            if known.received_at.elapsed() > self.silence {
                return Err(LinkFailure::Link(format!(
                    "it sent nothing for {} s",
                    self.silence.as_secs()
                )));
            }
            let LinkEvent::Reply(reply) = session.receive()? else {
                continue;
            };
            known.received_at = Instant::now();
            match reply {
                BoardReply::Up(_) => {}
                BoardReply::Progress(bytes, text) => {
                    known.progress = Some(bytes);
                    let lines = text.lines().map(|line| format!("{}\n", report::safe(line)));
                    self.session.note(&lines.collect::<String>());
                }
                BoardReply::Record(bytes) => self.belongs_to(&bytes)?,
                BoardReply::Result(place, bytes) => {
                    self.save(place, &bytes)?;
                    known.starts = 0;
                }
                BoardReply::Ended(ended) => {
                    self.refuse_missing(&ended)?;
                    return Ok(ended);
                }
            }
        }
    }

    /// Sends the study and what is known of it here, so that an emptied board continues as well.
    fn hand_over(
        &self,
        session: &mut LinkSession,
        here: &[RunPosition],
        known: &mut BoardStatus,
    ) -> Result<(), LinkFailure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(LinkFailure::Stopped);
        }
        known.starts += 1;
        if known.starts > MOST_STARTS {
            return Err(LinkFailure::Failed(Failure::unable(
                format!("the study on {} is killed repeatedly", self.host()),
                format!("it was started there {MOST_STARTS} times, without a result"),
                "check the memory, disk and power supply of that machine; the same command then continues",
            )));
        }
        session.send(&BoardRequest::Study(self.bytes.to_vec()))?;
        if let Some(directory) = &self.directory {
            let record = serde_json::to_vec(directory.record()).unwrap_or_default();
            session.send(&BoardRequest::Record(record))?;
            for place in here {
                session.send(&BoardRequest::Result(*place, directory.bytes(*place)?))?;
            }
        }
        Ok(())
    }

    fn belongs_to(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let record: StudyRecord = serde_json::from_slice(bytes).map_err(|error| {
            Failure::unable(
                format!("the answer of {} about its study cannot be parsed", self.host()),
                error,
                "run the same command again",
            )
        })?;
        self.directory = Some(Directory::of(self.out, self.study, self.bytes, record)?);
        Ok(())
    }

    fn save(&self, place: RunPosition, bytes: &[u8]) -> Result<(), Failure> {
        let (Some(directory), Some(cell)) = (&self.directory, self.study.cells.get(place.cell)) else {
            return Ok(());
        };
        directory.save(place, bytes)?;
        self.session
            .note(&format!("fetched {}, repetition {}\n", cell.name, place.block + 1));
        Ok(())
    }

    /// Prevents removal there before all results are here.
    fn refuse_missing(&self, ended: &StudyEnd) -> Result<(), LinkFailure> {
        let is_here = |place: &[usize; 2]| {
            let [block, cell] = *place;
            let directory = self.directory.as_ref();
            directory.is_some_and(|directory| directory.has(RunPosition { block, cell }))
        };
        match ended.there.iter().all(is_here) {
            true => Ok(()),
            false => Err(LinkFailure::Link("not every result was transferred".to_owned())),
        }
    }

    fn unreachable(&self, why: &str) -> Failure {
        let next = if why.contains("Host key verification failed") || why.contains("IDENTIFICATION HAS CHANGED") {
            "log in by hand once and verify that it is the intended machine; ssh then knows its key"
        } else if why.contains("Permission denied") {
            "a password cannot be entered here: install your key on that machine (ssh-copy-id), or use one with --ssh \
             'ssh -i KEY'"
        } else {
            "try to log in by hand; pass options of ssh with --ssh 'ssh -p PORT -i KEY'"
        };
        Failure::unable(format!("{} cannot be reached", self.host()), why, next)
    }

    fn lost(&self, why: &str) -> Failure {
        Failure::unable(
            format!("{} can no longer be reached", self.host()),
            why,
            format!(
                "the results so far are kept, and the study continues there, in {}; run the same command to reconnect \
                 to it",
                report::safe(&self.there.text())
            ),
        )
    }

    fn program_failed(&self, status: i32, errors: &str) -> Failure {
        let why = match errors {
            "" => format!("it ended with status {status}"),
            other => other.to_owned(),
        };
        let next = "if programs cannot be started from that directory, choose another one with --remote-dir DIR; if the \
             program needs libraries, use a static one with --remote-binary FILE";
        Failure::unable(format!("quietcore cannot run on {}", self.host()), why, next)
    }
}
