//! Defines the messages between this machine and a board: frames, read and written here for both sides.

use crate::guest_task::{frame_parts, json, run_frame};
use guest::frames::framed;
use root::{Failure, Status};
use serde::{Deserialize, Serialize};
use study::RunPosition;

/// The maximum size of a message: a result.
pub const MOST_BYTES: u64 = crate::directory::MOST_RESULT;

/// A request to the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardRequest {
    /// The study to start.
    Study(Vec<u8>),
    /// The record that its results belong to.
    Record(Vec<u8>),
    /// A result that exists here and need not be measured again.
    Result(RunPosition, Vec<u8>),
    /// Report progress and results.
    Go(FollowRequest),
    /// Stop the study.
    Stop,
}

/// What to report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowRequest {
    /// Whether to start the study there.
    pub begins: bool,
    /// The bytes of progress received so far; `None` starts with the last line.
    #[serde(rename = "heard")]
    pub received: Option<u64>,
    /// Results that exist here, as repetition and cell, from 0.
    pub here: Vec<[usize; 2]>,
}

/// A message of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardReply {
    /// The program runs, with this identity.
    Up(ProgramIdentity),
    /// Progress: the new size in bytes, and the new part.
    Progress(u64, String),
    /// The record that its results belong to.
    Record(Vec<u8>),
    /// The result of a run.
    Result(RunPosition, Vec<u8>),
    /// The study there has ended.
    Ended(StudyEnd),
}

/// The identity that the program there reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// Its version.
    pub version: String,
    /// Its size in bytes.
    pub bytes: usize,
    /// Its CRC-32.
    pub checksum: u32,
    /// The state of its study.
    pub state: StudyState,
}

/// The state of a study there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StudyState {
    /// Not started, or killed.
    Nothing,
    /// It runs.
    Runs,
    /// It has ended, and the outcome was not fetched yet.
    Ended,
}

/// The outcome of a study there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyEnd {
    /// Its exit status; `None` if it was killed.
    pub status: Option<u8>,
    /// What failed, why, and what to do next.
    pub error: Option<[String; 3]>,
    /// All results there, as repetition and cell, from 0.
    pub there: Vec<[usize; 2]>,
}

impl StudyEnd {
    /// The outcome of a study that ran there.
    pub fn of(outcome: Result<Status, Failure>) -> StudyEnd {
        let (status, error) = match outcome {
            Ok(status) => (status, None),
            Err(error) => (error.status, Some([error.what, error.why, error.next])),
        };
        StudyEnd {
            status: Some(status.code()),
            error,
            there: Vec::new(),
        }
    }

    /// Converts it to the outcome of the study here.
    ///
    /// # Errors
    /// The failure there.
    pub fn outcome(&self, host: &str) -> Result<Status, Failure> {
        let statuses = [
            Status::Done,
            Status::Failed,
            Status::Usage,
            Status::Denied,
            Status::Unable,
            Status::Conflict,
        ];
        let known = |code: u8| statuses.into_iter().find(|status| status.code() == code);
        let Some(status) = self.status else {
            return Err(Failure::unable(
                format!("the study on {host} was killed"),
                "no reason was reported; the usual ones are too little memory and a full disk",
                "check that machine; the same command then continues",
            ));
        };
        let status = known(status).unwrap_or(Status::Bug);
        match &self.error {
            None => Ok(status),
            Some([what, why, next]) => Err(Failure::new(
                status,
                format!("on {host}: {}", report::safe(what)),
                report::safe(why),
                report::safe(next),
            )),
        }
    }
}

impl BoardRequest {
    /// Encodes it.
    pub fn frame(&self) -> Vec<u8> {
        match self {
            BoardRequest::Study(bytes) => framed("study", bytes),
            BoardRequest::Record(bytes) => framed("record", bytes),
            BoardRequest::Result(place, bytes) => framed(&run_frame("result", place), bytes),
            BoardRequest::Go(go) => framed("go", &json(go)),
            BoardRequest::Stop => framed("stop", b""),
        }
    }

    /// Decodes a frame; `None` if it is unknown.
    pub fn of(name: &str, body: Vec<u8>) -> Option<BoardRequest> {
        match frame_parts(name)? {
            ("study", None) => Some(BoardRequest::Study(body)),
            ("record", None) => Some(BoardRequest::Record(body)),
            ("result", Some(place)) => Some(BoardRequest::Result(place, body)),
            ("go", None) => serde_json::from_slice(&body).ok().map(BoardRequest::Go),
            ("stop", None) => Some(BoardRequest::Stop),
            _ => None,
        }
    }
}

impl BoardReply {
    /// Encodes it.
    pub fn frame(&self) -> Vec<u8> {
        match self {
            BoardReply::Up(up) => framed("up", &json(up)),
            BoardReply::Progress(bytes, text) => framed("progress", &json(&(bytes, text))),
            BoardReply::Record(bytes) => framed("record", bytes),
            BoardReply::Result(place, bytes) => framed(&run_frame("result", place), bytes),
            BoardReply::Ended(ended) => framed("ended", &json(ended)),
        }
    }

    /// Decodes a frame; `None` if it is unknown.
    pub fn of(name: &str, body: Vec<u8>) -> Option<BoardReply> {
        match frame_parts(name)? {
            ("up", None) => serde_json::from_slice(&body).ok().map(BoardReply::Up),
            ("progress", None) => {
                let (bytes, text) = serde_json::from_slice(&body).ok()?;
                Some(BoardReply::Progress(bytes, text))
            }
            ("record", None) => Some(BoardReply::Record(body)),
            ("result", Some(place)) => Some(BoardReply::Result(place, body)),
            ("ended", None) => serde_json::from_slice(&body).ok().map(BoardReply::Ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guest::frames::Frames;

    #[test]
    fn board_messages_survive_a_round_trip() {
        let place = RunPosition { block: 2, cell: 11 };
        let messages = [
            BoardReply::Up(ProgramIdentity {
                version: "1".to_owned(),
                bytes: 3,
                checksum: 4,
                state: StudyState::Runs,
            }),
            BoardReply::Progress(9, "[1/4] \u{1b}x".to_owned()),
            BoardReply::Record(b"{}".to_vec()),
            BoardReply::Result(place, b"x".to_vec()),
            BoardReply::Ended(StudyEnd {
                status: None,
                error: None,
                there: vec![[2, 11]],
            }),
        ];
        let requested = [
            BoardRequest::Study(b"a".to_vec()),
            BoardRequest::Record(b"b".to_vec()),
            BoardRequest::Result(place, b"c".to_vec()),
            BoardRequest::Go(FollowRequest {
                begins: true,
                received: None,
                here: vec![],
            }),
            BoardRequest::Stop,
        ];
        let mut frames = Frames::default();
        messages.iter().for_each(|one| frames.push(&one.frame()));
        requested.iter().for_each(|one| frames.push(&one.frame()));
        for one in messages {
            let (name, body) = frames.take().unwrap();
            assert_eq!(BoardReply::of(&name, body), Some(one));
        }
        for one in requested {
            let (name, body) = frames.take().unwrap();
            assert_eq!(BoardRequest::of(&name, body), Some(one));
        }
        for name in ["", "result/1", "go", "up", "progress", "study/1/2"] {
            assert_eq!(
                (
                    BoardReply::of(name, b"x".to_vec()),
                    BoardRequest::of(name, b"x".to_vec())
                ),
                (None, None)
            );
        }
    }

    #[test]
    fn the_outcome_on_the_board_is_the_outcome_here() {
        let error = Failure::new(Status::Denied, "a", "b\u{1b}", "c");
        let reported = StudyEnd::of(Err(error)).outcome("board").unwrap_err();
        assert_eq!(
            (reported.status, reported.what.as_str()),
            (Status::Denied, "on board: a")
        );
        assert!(!reported.why.contains('\u{1b}'));
        assert_eq!(
            StudyEnd::of(Ok(Status::Failed)).outcome("board").unwrap(),
            Status::Failed
        );
        let killed = StudyEnd {
            status: None,
            error: None,
            there: Vec::new(),
        };
        assert_eq!(killed.outcome("board").unwrap_err().status, Status::Unable);
    }
}
