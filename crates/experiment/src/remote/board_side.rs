//! Runs on the board. `follow` lives as long as a link: it receives a study, starts it so that it outlives the link, and
//! sends its results. `conduct` is that study, run like `study run`; it does not use the link.

use super::MOST_PROGRAM;
use super::messages::{BoardReply, BoardRequest, FollowRequest, MOST_BYTES, ProgramIdentity, StudyEnd, StudyState};
use crate::child_output::{ChildOutput, next_part};
use crate::directory::Directory;
use crate::forecast::Forecast;
use crate::local::carry_out;
use crate::{Consent, OutcomePresenter, StudyFile};
use guest::frames::Frames;
use machine::CpuSet;
use root::state::StateDir;
use root::{Failure, Status, input, output, process, sched};
use session::Session;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use study::RunPosition;
use study::board::RUN_COMMAND;

/// The interval of checks for something new, on a CPU that is not measured.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The file of the study.
const STUDY: &str = "study.toml";

/// The directory of its results.
const RESULTS: &str = "results";

/// The file of its progress.
const PROGRESS: &str = "progress";

/// The file of its outcome.
const ENDED: &str = "ended.json";

/// Locked by the process that runs the study; contains its PID.
const LOCK: &str = ".lock";

/// Runs the study of this directory to its end, unattended.
///
/// # Errors
/// It already runs, or its end could not be recorded.
pub fn run(session: &Session, show: &mut OutcomePresenter) -> Result<Status, Failure> {
    session::stop_flag();
    // The end of the link must not end the study. If this process already leads a session, that is fine.
    let _ = rustix::process::setsid();
    let dir = own_dir()?;
    let state = StateDir::create(&dir)?;
    let _lock = state.lock(Duration::from_secs(2))?;
    let file = dir.join(STUDY);
    let outcome = StudyFile::read(&file).and_then(|study| {
        let foresee = || Forecast::of(session, study, &file);
        carry_out(session, &dir.join(RESULTS), Consent::Missing, show, foresee)
    });
    let ended = StudyEnd::of(outcome);
    let text = serde_json::to_vec(&ended).unwrap_or_default();
    state.replace(ENDED, &text)?;
    Ok(Status::Done)
}

/// Reports the progress and results of the study in this directory, until the link ends.
///
/// # Errors
/// Files that cannot be read, or a study that cannot be started.
pub fn follow(out: &mut dyn Write) -> Result<Status, Failure> {
    let mut board = BoardSide::own(out)?;
    let program = input::bytes(&board.program(), MOST_PROGRAM)?;
    let state = board.does()?;
    board.send(&BoardReply::Up(ProgramIdentity {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        bytes: program.len(),
        checksum: crc32fast::hash(&program),
        state,
    }))?;
    drop(program);
    let (mut frames, mut given, mut report_state) = (Frames::default(), StudyInput::default(), None);
    while read_requests(&mut frames)? {
        while let Some((name, body)) = frames.take() {
            match BoardRequest::of(&name, body) {
                Some(BoardRequest::Study(bytes)) => given.study = bytes,
                Some(BoardRequest::Record(bytes)) => given.record = bytes,
                Some(BoardRequest::Result(place, bytes)) => given.results.push((place, bytes)),
                Some(BoardRequest::Go(go)) => report_state = Some(board.go(go, std::mem::take(&mut given))?),
                Some(BoardRequest::Stop) => board.stop()?,
                None => {}
            }
        }
        if let Some(report_state) = report_state.as_mut()
            && board.report(report_state)?
        {
            break;
        }
    }
    Ok(Status::Done)
}

/// The messages before the request to start.
#[derive(Default)]
struct StudyInput {
    study: Vec<u8>,
    record: Vec<u8>,
    results: Vec<(RunPosition, Vec<u8>)>,
}

/// What was reported already.
struct ReportState {
    progress: Option<u64>,
    record: bool,
    results: BTreeSet<RunPosition>,
}

/// The directory on this machine, and the process that runs its study.
struct BoardSide<'a> {
    /// The link.
    out: &'a mut dyn Write,
    dir: PathBuf,
    state: StateDir,
    child: Option<Child>,
}

impl BoardSide<'_> {
    fn own(out: &mut dyn Write) -> Result<BoardSide<'_>, Failure> {
        let dir = own_dir()?;
        let state = StateDir::create(&dir)?;
        Ok(BoardSide {
            out,
            dir,
            state,
            child: None,
        })
    }

    fn send(&mut self, reply: &BoardReply) -> Result<(), Failure> {
        self.out
            .write_all(&reply.frame())
            .and_then(|()| self.out.flush())
            .map_err(|error| link_failure(&error))
    }

    fn program(&self) -> PathBuf {
        self.dir.join("quietcore")
    }

    fn results(&self) -> PathBuf {
        self.dir.join(RESULTS)
    }

    fn does(&mut self) -> Result<StudyState, Failure> {
        if self.runs() {
            return Ok(StudyState::Runs);
        }
        let has_ended = self.state.size(ENDED)?.is_some();
        Ok(if has_ended {
            StudyState::Ended
        } else {
            StudyState::Nothing
        })
    }

    fn runs(&mut self) -> bool {
        // A process that was just started may not hold the lock yet.
        let is_child = self
            .child
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        is_child || self.state.lock(Duration::ZERO).is_err()
    }

    fn go(&mut self, go: FollowRequest, given: StudyInput) -> Result<ReportState, Failure> {
        let mut progress = go.received;
        if go.begins && self.does()? != StudyState::Runs {
            self.start(given)?;
            progress = Some(0);
        }
        let here = go.here.into_iter().map(|[block, cell]| RunPosition { block, cell });
        Ok(ReportState {
            progress,
            record: false,
            results: here.collect(),
        })
    }

    fn start(&mut self, given: StudyInput) -> Result<(), Failure> {
        for former in [ENDED, PROGRESS] {
            self.state.remove(former)?;
        }
        self.state.replace(STUDY, &given.study)?;
        let file = self.dir.join(STUDY);
        if !given.record.is_empty() {
            let study = StudyFile::read(&file)?;
            let record = serde_json::from_slice(&given.record)
                .map_err(|error| Failure::usage("data on the link is not a valid record", error, ""))?;
            let directory = Directory::of(&self.results(), study.study(), &given.study, record)?;
            for (place, bytes) in given.results {
                if !directory.has(place) {
                    directory.save(place, &bytes)?;
                }
            }
        }
        let failed = |error: std::io::Error| {
            Failure::unable("the study could not be started", error, "run the same command again")
        };
        let progress = output::for_child(&self.dir.join(PROGRESS))?;
        let mut command = Command::new(self.program());
        command
            .args(RUN_COMMAND)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(progress);
        self.child = Some(command.spawn().map_err(failed)?);
        Ok(())
    }

    /// Stops the study, as Ctrl-C would.
    fn stop(&mut self) -> Result<(), Failure> {
        if !self.runs() {
            return Ok(());
        }
        let holder = self.state.read(LOCK)?.unwrap_or_default();
        let holder = String::from_utf8_lossy(&holder).trim().parse().ok();
        if let Some(pid) = holder.or(self.child.as_ref().map(Child::id)) {
            process::send(pid, libc::SIGINT);
        }
        Ok(())
    }

    /// Reports what is new. Returns whether that was the end.
    fn report(&mut self, report_state: &mut ReportState) -> Result<bool, Failure> {
        // Check for the end first: everything that exists then is complete.
        let has_ended = !self.runs();
        let bytes = self.state.size(PROGRESS)?.unwrap_or(0);
        // A line is written before each run and after the result of the previous one.
        if !has_ended && report_state.progress == Some(bytes) {
            return Ok(false);
        }
        let directory = self.directory()?;
        if let Some(directory) = &directory {
            if !has_ended {
                leave_measured_cpus(&directory.record().cpus);
            }
            self.report_results(directory, report_state)?;
        }
        self.report_progress(report_state)?;
        if !has_ended {
            return Ok(false);
        }
        let recorded = self.state.read(ENDED)?;
        let recorded: Option<StudyEnd> = recorded.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut ended = recorded.unwrap_or(StudyEnd {
            status: None,
            error: None,
            there: Vec::new(),
        });
        if let Some(directory) = directory {
            let there = directory.finished_runs()?.into_iter();
            ended.there = there.map(|place| [place.block, place.cell]).collect();
        }
        self.send(&BoardReply::Ended(ended))?;
        Ok(true)
    }

    fn directory(&self) -> Result<Option<Directory>, Failure> {
        match self.results().join("study.json").exists() {
            true => Directory::existing(&self.results()).map(Some),
            false => Ok(None),
        }
    }

    fn report_results(&mut self, directory: &Directory, report_state: &mut ReportState) -> Result<(), Failure> {
        if !report_state.record {
            let path = self.results().join("study.json");
            self.send(&BoardReply::Record(input::bytes(&path, MOST_BYTES)?))?;
            report_state.record = true;
        }
        for block in 0..directory.study.repetitions {
            for cell in 0..directory.study.cells.len() {
                let place = RunPosition { block, cell };
                if directory.has(place) && report_state.results.insert(place) {
                    self.send(&BoardReply::Result(place, directory.bytes(place)?))?;
                }
            }
        }
        Ok(())
    }

    fn report_progress(&mut self, report_state: &mut ReportState) -> Result<(), Failure> {
        let all = self.state.read(PROGRESS)?.unwrap_or_default();
        let received = report_state.progress.and_then(|count| usize::try_from(count).ok());
        let from = received
            .filter(|count| *count <= all.len())
            .unwrap_or_else(|| last_line(&all));
        let new = all.get(from..).unwrap_or_default();
        report_state.progress = Some(all.len() as u64);
        if new.is_empty() {
            return Ok(());
        }
        self.send(&BoardReply::Progress(
            all.len() as u64,
            String::from_utf8_lossy(new).into_owned(),
        ))
    }
}

/// The start of the last line.
fn last_line(text: &[u8]) -> usize {
    let before = text.strip_suffix(b"\n").unwrap_or(text);
    before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |place| place + 1)
}

/// The directory that this program was copied into.
fn own_dir() -> Result<PathBuf, Failure> {
    let not_here = |why: String| {
        Failure::usage(
            "this is not a board of a study",
            why,
            "boards are started by `quietcore study run FILE --out DIR --on HOST`",
        )
    };
    let program = std::env::current_exe().map_err(|error| not_here(error.to_string()))?;
    let dir = program.parent().map(Path::to_path_buf);
    let is_ours = |dir: &PathBuf| {
        let name = dir.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(super::DIRECTORY.as_bytes())
    };
    dir.filter(is_ours)
        .ok_or_else(|| not_here(format!("{} was not copied here", program.display())))
}

/// Leaves the measured CPUs to the study if there are others.
fn leave_measured_cpus(measured: &CpuSet) {
    let mut words = Vec::new();
    if sched::affinity(0, &mut words).is_err() {
        return;
    }
    let mut allowed = CpuSet::new();
    allowed.set_words(&words);
    let others = allowed.minus(measured);
    if others != allowed && !others.is_empty() {
        // If this is refused, this process runs beside the others that are there anyway.
        let _ = sched::set_affinity(0, &others.words());
    }
}

fn link_failure(error: &std::io::Error) -> Failure {
    Failure::unable("the link ended", error, "the study continues")
}

/// Waits briefly for requests. Returns whether the link still exists.
fn read_requests(frames: &mut Frames) -> Result<bool, Failure> {
    let output = next_part(&mut std::io::stdin().lock(), POLL_INTERVAL).map_err(|error| link_failure(&error))?;
    if let ChildOutput::Part(part) = &output {
        frames.push(part);
    }
    Ok(!matches!(output, ChildOutput::Closed))
}

#[cfg(test)]
mod tests {
    use super::last_line;

    #[test]
    fn a_later_link_receives_the_last_line() {
        assert_eq!(last_line(b""), 0);
        assert_eq!(last_line(b"one\n"), 0);
        assert_eq!(last_line(b"one\ntwo\n"), 4);
        assert_eq!(last_line(b"one\ntw"), 4);
    }
}
