//! Reads the file of `blame --gaps`.

use super::{GapTrailer, WatchedCpu};
use ::blame::{
    BlameResult, Confidence, CpuAnswer, Culprit, Gap, GapStory, Interruption, InterruptionSubject, StoryPiece,
};
use measure::Environment;
use observe::Class;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use thiserror::Error;

/// Linux supports no more CPUs (`NR_CPUS`).
const MOST_CPUS: u32 = 8_192;

/// A watch, as its file describes it.
#[derive(Debug)]
pub struct GapRecording {
    /// The gaps, and the sums of their rows.
    pub answer: BlameResult,
    /// The minimum length of a gap; `None` where a program was watched.
    pub threshold_ns: Option<u64>,
    /// The machine.
    pub environment: Environment,
}

/// Why a file is not a complete recording of gaps.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GapRecordingError {
    /// A line is not one of `blame --gaps`.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The last line does not describe the watch.
    #[error("its last line, which describes the watch, is missing")]
    NoEnd,
    /// The last line has another number of gaps than the file, or a time that does not hold them.
    #[error("its last line contradicts the gaps of CPU {cpu}")]
    Contradiction {
        /// The CPU.
        cpu: u32,
    },
    /// The last line has no times and no machine.
    #[error("its last line does not say how long which CPUs were watched: an older version wrote it")]
    Older,
}

#[derive(Deserialize)]
struct RecordedGap {
    cpu: u32,
    start_ns: u64,
    end_ns: u64,
    parts: Vec<RecordedPart>,
}

#[derive(Deserialize)]
struct RecordedPart {
    start_ns: u64,
    end_ns: u64,
    class: Option<Class>,
    #[serde(default)]
    name: String,
    culprit: Option<Culprit>,
    confidence: Option<Confidence>,
    #[serde(default)]
    subject: InterruptionSubject,
}

type RecordedRow = (Class, String, Option<Culprit>, Confidence, InterruptionSubject);

/// The gaps of a CPU, and the place of each row.
#[derive(Default)]
struct RecordedCpu {
    answer: CpuAnswer,
    rows: HashMap<RecordedRow, usize>,
}

/// Reads the whole file.
///
/// # Errors
/// A line that is not one of `blame --gaps`, or a file without its end.
pub fn read_blame_gaps(text: &str) -> Result<GapRecording, GapRecordingError> {
    let mut cpus: HashMap<u32, RecordedCpu> = HashMap::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, text)) = lines.next() {
        let wrong = |why: String| GapRecordingError::Line { line: at + 1, why };
        match serde_json::from_str::<RecordedGap>(text) {
            Ok(gap) => {
                if gap.cpu >= MOST_CPUS {
                    return Err(wrong(format!("no machine has CPU {}", gap.cpu)));
                }
                let cpu = cpus.entry(gap.cpu).or_default();
                cpu.add(gap).map_err(|why| wrong(why.to_owned()))?;
            }
            Err(error) => {
                let is_last = text.starts_with("{\"clock\"");
                let trailer = serde_json::from_str::<GapTrailer>(text);
                let trailer = trailer.map_err(|of_last| wrong(if is_last { of_last } else { error }.to_string()))?;
                return match lines.next() {
                    Some((at, _)) => Err(GapRecordingError::Line {
                        line: at + 1,
                        why: "the file continues after its last line".to_owned(),
                    }),
                    None => finish(cpus, trailer),
                };
            }
        }
    }
    Err(GapRecordingError::NoEnd)
}

fn finish(mut cpus: HashMap<u32, RecordedCpu>, trailer: GapTrailer) -> Result<GapRecording, GapRecordingError> {
    let environment = trailer.environment.ok_or(GapRecordingError::Older)?;
    if trailer.watched.is_empty() {
        return Err(GapRecordingError::Older);
    }
    let mut known = BTreeSet::new();
    for cpu in trailer.watched.iter().map(|watched| watched.cpu) {
        if cpu >= MOST_CPUS || !known.insert(cpu) {
            return Err(GapRecordingError::Contradiction { cpu });
        }
    }
    let watched = trailer.watched.into_iter().map(|watched| {
        let recorded = cpus.remove(&watched.cpu).unwrap_or_default();
        recorded.finish(&watched)
    });
    let answer = BlameResult {
        cpus: watched.collect::<Result<_, _>>()?,
    };
    if let Some(cpu) = cpus.keys().next() {
        return Err(GapRecordingError::Contradiction { cpu: *cpu });
    }
    Ok(GapRecording {
        answer,
        threshold_ns: trailer.threshold_ns,
        environment,
    })
}

impl RecordedCpu {
    fn add(&mut self, gap: RecordedGap) -> Result<(), &'static str> {
        let last_ns = self.answer.stories.last().map_or(0, |story| story.gap.end);
        let mut at = gap.start_ns;
        if at < last_ns {
            return Err("the gap starts before the end of the previous one");
        }
        let mut pieces = Vec::with_capacity(gap.parts.len());
        for part in gap.parts {
            if part.start_ns != at || part.end_ns < at {
                return Err("the parts of the gap do not follow each other");
            }
            at = part.end_ns;
            pieces.push(self.piece(part));
        }
        if at != gap.end_ns {
            return Err("the parts of the gap do not end with it");
        }
        self.answer.stories.push(GapStory {
            gap: Gap {
                start: gap.start_ns,
                end: gap.end_ns,
            },
            pieces,
        });
        Ok(())
    }

    fn piece(&mut self, part: RecordedPart) -> StoryPiece {
        let span = Gap {
            start: part.start_ns,
            end: part.end_ns,
        };
        let length_ns = span.end - span.start;
        let Some(class) = part.class else {
            self.answer.unexplained_ns += length_ns;
            return StoryPiece { span, row: None };
        };
        let confidence = part.confidence.unwrap_or(Confidence::Inferred);
        let key = (class, part.name, part.culprit, confidence, part.subject);
        let rows = &mut self.answer.interruptions;
        let row = match self.rows.get(&key) {
            Some(row) => *row,
            None => {
                let (class, name, culprit, confidence, subject) = key.clone();
                rows.push(Interruption {
                    culprit,
                    confidence,
                    subject,
                    ..Interruption::new(class, name)
                });
                self.rows.insert(key, rows.len() - 1);
                rows.len() - 1
            }
        };
        if let Some(row) = rows.get_mut(row) {
            row.count += 1;
            row.total_ns += length_ns;
            row.max_ns = row.max_ns.max(length_ns);
        }
        self.answer.explained_ns += length_ns;
        StoryPiece { span, row: Some(row) }
    }

    fn finish(self, watched: &WatchedCpu) -> Result<CpuAnswer, GapRecordingError> {
        let stories = &self.answer.stories;
        let span_ns = match (stories.first(), stories.last()) {
            (Some(first), Some(last)) => last.gap.end - first.gap.start,
            _ => 0,
        };
        let listed = watched.gaps.checked_sub(watched.left_out);
        if span_ns > watched.duration_ns || listed != Some(stories.len() as u64) {
            return Err(GapRecordingError::Contradiction { cpu: watched.cpu });
        }
        Ok(CpuAnswer {
            cpu: watched.cpu,
            duration_ns: watched.duration_ns,
            stolen_ns: self.answer.explained_ns + self.answer.unexplained_ns,
            gaps: watched.gaps,
            lost_events: watched.lost_events,
            stories_left_out: watched.left_out,
            transitions: watched.transitions,
            ..self.answer
        })
    }
}
