//! Makes watches.

use blame::{BlameResult, CpuAnswer, Gap, GapStory, Interruption, StoryPiece};

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// The start of every watch.
pub const START_NS: u64 = 5_000_000_000;

/// A gap that starts so many nanoseconds after the start of the watch: its pieces, each with its length and its row.
pub fn story(offset_ns: u64, pieces: &[(u64, Option<usize>)]) -> GapStory {
    let mut at = START_NS + offset_ns;
    let pieces: Vec<StoryPiece> = pieces
        .iter()
        .map(|(length_ns, row)| {
            let span = Gap {
                start: at,
                end: at + length_ns,
            };
            at = span.end;
            StoryPiece { span, row: *row }
        })
        .collect();
    GapStory {
        gap: Gap {
            start: START_NS + offset_ns,
            end: at,
        },
        pieces,
    }
}

/// The watch of CPU 3 with these gaps.
pub fn watch(duration_ns: u64, mut rows: Vec<Interruption>, stories: Vec<GapStory>) -> BlameResult {
    let mut unexplained_ns = 0;
    for piece in stories.iter().flat_map(|story| &story.pieces) {
        let length_ns = piece.span.end - piece.span.start;
        match piece.row {
            Some(row) => {
                rows[row].total_ns += length_ns;
                rows[row].count += 1;
                rows[row].max_ns = rows[row].max_ns.max(length_ns);
            }
            None => unexplained_ns += length_ns,
        }
    }
    let explained_ns = rows.iter().map(|row| row.total_ns).sum();
    BlameResult {
        cpus: vec![CpuAnswer {
            cpu: 3,
            duration_ns,
            stolen_ns: explained_ns + unexplained_ns,
            explained_ns,
            unexplained_ns,
            gaps: stories.len() as u64,
            interruptions: rows,
            stories,
            ..CpuAnswer::default()
        }],
    }
}
