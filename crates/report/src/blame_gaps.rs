//! Writes each gap with its pieces and their culprits: one line of JSON per gap, for other programs and to verify the rows.

use ::blame::{BlameResult, Confidence, CpuAnswer, Culprit, GapStory};
use observe::Class;
use serde::Serialize;

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
}

#[derive(Serialize)]
struct GapTrailer<'a> {
    clock: &'a str,
    gaps: u64,
    left_out: u64,
}

/// Writes the lines. Times are on the given clock; a piece without a class is time without an event. The last line counts
/// the gaps, and those left out.
#[must_use]
pub fn blame_gaps(answer: &BlameResult, clock: &str) -> String {
    let mut out = String::new();
    let mut last = GapTrailer {
        clock,
        gaps: 0,
        left_out: 0,
    };
    for cpu in &answer.cpus {
        last.gaps += cpu.gaps;
        last.left_out += cpu.stories_left_out;
        for story in &cpu.stories {
            push(&mut out, &line(cpu, story));
        }
    }
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
            }),
    });
    GapLine {
        cpu: cpu.cpu,
        start_ns: story.gap.start,
        end_ns: story.gap.end,
        parts: parts.collect(),
    }
}
