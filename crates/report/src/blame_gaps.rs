//! Writes each gap with its pieces and their culprits: one line of JSON per gap, for `predict`, for other programs, and to
//! verify the rows.

mod recording;

pub use recording::{GapRecording, GapRecordingError, read_blame_gaps};

use ::blame::{BlameResult, Confidence, CpuAnswer, Culprit, GapStory, InterruptionSubject, TransitionTimes};
use measure::Environment;
use observe::Class;
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct GapLine<'a> {
    cpu: u32,
    start_ns: u64,
    end_ns: u64,
    parts: Vec<GapLinePart<'a>>,
}

#[derive(Serialize)]
struct GapLinePart<'a> {
    start_ns: u64,
    end_ns: u64,
    #[serde(flatten)]
    who: Option<GapCause<'a>>,
}

#[derive(Serialize)]
struct GapCause<'a> {
    class: Class,
    name: &'a str,
    culprit: Option<&'a Culprit>,
    confidence: Confidence,
    #[serde(skip_serializing_if = "is_without_number")]
    subject: &'a InterruptionSubject,
}

fn is_without_number(subject: &&InterruptionSubject) -> bool {
    **subject == InterruptionSubject::None
}

/// The last line: what was watched, and where.
#[derive(Serialize, Deserialize)]
struct GapTrailer {
    clock: String,
    gaps: u64,
    left_out: u64,
    #[serde(default)]
    threshold_ns: Option<u64>,
    #[serde(default)]
    watched: Vec<WatchedCpu>,
    #[serde(default)]
    environment: Option<Environment>,
}

#[derive(Serialize, Deserialize)]
struct WatchedCpu {
    cpu: u32,
    duration_ns: u64,
    gaps: u64,
    left_out: u64,
    lost_events: u64,
    #[serde(default)]
    transitions: TransitionTimes,
}

/// Writes the lines. Times are on the given clock; a piece without a class is time without an event. The last line counts
/// the gaps, and those left out, and describes the watch.
#[must_use]
pub fn blame_gaps(answer: &BlameResult, clock: &str, threshold_ns: Option<u64>, environment: &Environment) -> String {
    let mut out = String::new();
    for cpu in &answer.cpus {
        for story in &cpu.stories {
            push(&mut out, &line(cpu, story));
        }
    }
    let watched = answer.cpus.iter().map(|cpu| WatchedCpu {
        cpu: cpu.cpu,
        duration_ns: cpu.duration_ns,
        gaps: cpu.gaps,
        left_out: cpu.stories_left_out,
        lost_events: cpu.lost_events,
        transitions: cpu.transitions,
    });
    let last = GapTrailer {
        clock: clock.to_owned(),
        gaps: answer.cpus.iter().map(|cpu| cpu.gaps).sum(),
        left_out: answer.cpus.iter().map(|cpu| cpu.stories_left_out).sum(),
        threshold_ns,
        watched: watched.collect(),
        environment: Some(environment.clone()),
    };
    push(&mut out, &last);
    out
}

fn push(out: &mut String, line: &impl Serialize) {
    // These types always serialise to JSON: no maps, no foreign bytes.
    if let Ok(text) = serde_json::to_string(line) {
        out.push_str(&text);
        out.push('\n');
    }
}

fn line<'a>(cpu: &'a CpuAnswer, story: &GapStory) -> GapLine<'a> {
    let parts = story.pieces.iter().map(|piece| GapLinePart {
        start_ns: piece.span.start,
        end_ns: piece.span.end,
        who: piece
            .row
            .and_then(|row| cpu.interruptions.get(row))
            .map(|row| GapCause {
                class: row.class,
                name: &row.name,
                culprit: row.culprit.as_ref(),
                confidence: row.confidence,
                subject: &row.subject,
            }),
    });
    GapLine {
        cpu: cpu.cpu,
        start_ns: story.gap.start,
        end_ns: story.gap.end,
        parts: parts.collect(),
    }
}
