//! Defines the task of a guest and its messages, read and written here for both sides.

use guest::frames::framed;
use serde::{Deserialize, Serialize};
use study::RunPosition;

/// The path of the task in the guest.
pub const FILE: &str = "/study/task.json";

/// The path of the study.
pub const STUDY: &str = "/study/study.toml";

/// The command line that runs the task.
pub const WORDS: [&str; 2] = ["study", "in-guest"];

/// The maximum size of a task: all runs of a study.
pub const MOST_BYTES: u64 = 1 << 20;

/// The task of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestTask {
    /// Measured CPUs, as a list.
    pub cpus: String,
    /// The runs in order, as repetition and cell, from 0.
    pub runs: Vec<[usize; 2]>,
}

/// The identity that a guest reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestIdentity {
    /// The kernel's release.
    pub release: Option<String>,
    /// Its kernel command line.
    pub cmdline: Option<String>,
}

/// Why a run cannot be made in a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestRefusal {
    /// What failed.
    pub what: String,
    /// Why.
    pub why: String,
}

/// A message of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestMessage {
    /// It has booted, with this identity.
    Up(GuestIdentity),
    /// This run starts.
    RunStarted(RunPosition),
    /// The result of a run.
    Result(RunPosition, Vec<u8>),
    /// A run that cannot be made.
    Refused(RunPosition, GuestRefusal),
    /// Every run was tried.
    Done,
}

impl GuestMessage {
    /// Encodes it for the port.
    pub fn frame(&self) -> Vec<u8> {
        match self {
            GuestMessage::Up(up) => framed("up", &json(up)),
            GuestMessage::RunStarted(place) => framed(&run_frame("begins", place), b""),
            GuestMessage::Result(place, bytes) => framed(&run_frame("result", place), bytes),
            GuestMessage::Refused(place, refusal) => framed(&run_frame("refused", place), &json(refusal)),
            GuestMessage::Done => framed("done", b""),
        }
    }

    /// Decodes a frame; `None` if it is unknown.
    pub fn of(name: &str, body: Vec<u8>) -> Option<GuestMessage> {
        match frame_parts(name)? {
            ("up", None) => serde_json::from_slice(&body).ok().map(GuestMessage::Up),
            ("done", None) => Some(GuestMessage::Done),
            ("begins", Some(place)) => Some(GuestMessage::RunStarted(place)),
            ("result", Some(place)) => Some(GuestMessage::Result(place, body)),
            ("refused", Some(place)) => {
                let refusal = serde_json::from_slice(&body).ok()?;
                Some(GuestMessage::Refused(place, refusal))
            }
            _ => None,
        }
    }
}

/// The name of a frame about a run.
pub(crate) fn run_frame(word: &str, place: &RunPosition) -> String {
    format!("{word}/{}/{}", place.block, place.cell)
}

/// Splits the name of a frame into its word and the run after it.
pub(crate) fn frame_parts(name: &str) -> Option<(&str, Option<RunPosition>)> {
    let mut words = name.split('/');
    let word = words.next()?;
    let mut number = || words.next()?.parse().ok();
    let place = number().zip(number()).map(|(block, cell)| RunPosition { block, cell });
    Some((word, place))
}

/// The body of a frame with this value.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use guest::frames::Frames;

    #[test]
    fn guest_messages_survive_a_round_trip() {
        let place = RunPosition { block: 2, cell: 11 };
        let messages = [
            GuestMessage::Up(GuestIdentity {
                release: Some("6.1".to_owned()),
                cmdline: None,
            }),
            GuestMessage::RunStarted(place),
            GuestMessage::Result(place, b"{}".to_vec()),
            GuestMessage::Refused(
                place,
                GuestRefusal {
                    what: "a".to_owned(),
                    why: "b".to_owned(),
                },
            ),
            GuestMessage::Done,
        ];
        let mut frames = Frames::default();
        messages.iter().for_each(|reported| frames.push(&reported.frame()));
        let received = std::iter::from_fn(|| frames.take()).map(|(name, body)| GuestMessage::of(&name, body));
        assert_eq!(received.collect::<Vec<_>>(), messages.map(Some));
        for (name, body) in [
            ("", ""),
            ("result/1", ""),
            ("begins/x/1", ""),
            ("up", "x"),
            ("refused/1/1", ""),
        ] {
            assert_eq!(GuestMessage::of(name, body.into()), None, "{name}");
        }
    }
}
