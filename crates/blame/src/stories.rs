//! Records what happened in individual gaps, piece by piece: for pictures, for `--gaps`, and to verify the rows.
//!
//! The rows are the sums of these. While events arrive, a piece knows only the serial of its interruption; its row is known
//! when the interruption has ended, and the usual length of the way in and out only at the end.

use crate::gaps::{Edge, EdgeDirection, EdgeEstimator, Gap};
use std::collections::{HashMap, HashSet};

/// Which gaps to keep with their pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GapSelection {
    /// None.
    #[default]
    Nothing,
    /// The first ones, up to this many bytes of memory.
    First(usize),
    /// This many of the longest.
    Longest(usize),
}

/// A piece of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoryPiece {
    /// Its start and end.
    pub span: Gap,
    /// Its interruption: an index into the interruptions of the same CPU. `None` if no event accounts for it.
    pub row: Option<usize>,
}

/// One gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapStory {
    /// Its start and end.
    pub gap: Gap,
    /// Its pieces in order of time, without holes.
    pub pieces: Vec<StoryPiece>,
}

#[derive(Clone, Copy, Debug)]
struct RawPiece {
    span: Gap,
    serial: Option<u64>,
}

/// Memory of a gap that is kept, without its pieces: the vector of gaps grows to twice their size.
const GAP_BYTES: usize = 2 * size_of::<(Gap, Vec<RawPiece>)>();
/// Memory of one piece, with the row of its interruption.
const PIECE_BYTES: usize = size_of::<RawPiece>() + 4 * size_of::<(u64, usize)>();

/// Collects gaps.
#[derive(Debug, Default)]
pub(crate) struct StoryCollector {
    keep: GapSelection,
    now: Vec<RawPiece>,
    stored_gaps: Vec<(Gap, Vec<RawPiece>)>,
    /// Rows of the interruptions that have ended.
    places: HashMap<u64, usize>,
    /// The highest serial of an interruption in the kept gaps.
    newest: u64,
    left_out: u64,
    /// Memory of the kept gaps, in bytes.
    stored_bytes: usize,
}

impl StoryCollector {
    pub(crate) fn new(keep: GapSelection) -> StoryCollector {
        StoryCollector {
            keep,
            ..StoryCollector::default()
        }
    }

    /// Adds a piece of the current gap, with the serial of its interruption.
    pub(crate) fn piece(&mut self, span: Gap, serial: Option<u64>) {
        if self.keep == GapSelection::Nothing {
            return;
        }
        match self.now.last_mut() {
            Some(last) if last.serial == serial && last.span.end == span.start => last.span.end = span.end,
            _ => self.now.push(RawPiece { span, serial }),
        }
    }

    /// Ends the current gap, which is the range of its pieces.
    pub(crate) fn end(&mut self) {
        let (Some(first), Some(last)) = (self.now.first(), self.now.last()) else {
            return;
        };
        let gap = Gap {
            start: first.span.start,
            end: last.span.end,
        };
        let mut pieces = std::mem::take(&mut self.now);
        let bytes = GAP_BYTES + pieces.len() * PIECE_BYTES;
        match self.keep {
            GapSelection::Nothing => {}
            GapSelection::First(most) if self.left_out == 0 && self.stored_bytes.saturating_add(bytes) <= most => {
                self.stored_bytes += bytes;
                pieces.shrink_to_fit();
                let serials = pieces.iter().filter_map(|piece| piece.serial);
                // Time with lost events has a serial that no interruption has.
                self.newest = serials.filter(|serial| *serial != u64::MAX).fold(self.newest, u64::max);
                self.stored_gaps.push((gap, pieces));
            }
            GapSelection::First(_) => self.left_out += 1,
            GapSelection::Longest(most) => {
                self.stored_gaps.push((gap, pieces));
                if self.stored_gaps.len() >= most.saturating_mul(2).max(64) {
                    self.shorten(most);
                }
            }
        }
    }

    /// An interruption has ended and is counted in that row.
    pub(crate) fn named(&mut self, serial: u64, row: usize) {
        let is_stored = match self.keep {
            GapSelection::Nothing => false,
            GapSelection::Longest(_) => true,
            // Interruptions that started after the last kept gap are in none of them.
            GapSelection::First(_) => self.left_out == 0 || serial <= self.newest,
        };
        if is_stored {
            self.places.insert(serial, row);
        }
    }

    fn shorten(&mut self, most: usize) {
        self.stored_gaps
            .sort_unstable_by_key(|(gap, _)| (std::cmp::Reverse(gap.end - gap.start), gap.start));
        self.left_out += self.stored_gaps.len().saturating_sub(most) as u64;
        self.stored_gaps.truncate(most);
        let named: HashSet<u64> = self
            .stored_gaps
            .iter()
            .flat_map(|(_, pieces)| pieces)
            .chain(&self.now)
            .filter_map(|piece| piece.serial)
            .collect();
        self.places.retain(|serial, _| named.contains(serial));
    }

    /// All gaps in order of time, and the number left out.
    pub(crate) fn finish(mut self, usual: &EdgeEstimator) -> (Vec<GapStory>, u64) {
        self.end();
        if let GapSelection::Longest(most) = self.keep {
            self.shorten(most);
        }
        self.stored_gaps.sort_unstable_by_key(|(gap, _)| gap.start);
        let stories = self.stored_gaps.into_iter().map(|(gap, pieces)| GapStory {
            gap,
            pieces: pieces_of(&pieces, &self.places, usual),
        });
        (stories.collect(), self.left_out)
    }
}

/// Assigns the way into and out of an interruption to it, as the rows do.
fn pieces_of(raw: &[RawPiece], places: &HashMap<u64, usize>, usual: &EdgeEstimator) -> Vec<StoryPiece> {
    let row = |raw: Option<&RawPiece>| {
        raw.and_then(|raw| raw.serial)
            .and_then(|serial| places.get(&serial).copied())
    };
    let mut pieces: Vec<StoryPiece> = Vec::with_capacity(raw.len());
    for (at, piece) in raw.iter().enumerate() {
        if piece.serial.is_some() {
            push(&mut pieces, piece.span, row(Some(piece)));
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| raw.get(before));
        let after = raw.get(at + 1);
        let beside = before.or(after).and_then(|beside| beside.serial);
        let way_ns = beside.map_or(0, |beside| {
            usual.split(&Edge {
                way: EdgeDirection::of(before.is_some(), after.is_some()),
                len_ns: piece.span.end - piece.span.start,
                beside,
            })
        });
        let Gap { start, end } = piece.span;
        if before.is_some() {
            let middle = start + way_ns;
            push(&mut pieces, Gap { start, end: middle }, row(before));
            push(&mut pieces, Gap { start: middle, end }, None);
        } else {
            let middle = end - way_ns;
            push(&mut pieces, Gap { start, end: middle }, None);
            push(&mut pieces, Gap { start: middle, end }, row(after));
        }
    }
    pieces
}

fn push(pieces: &mut Vec<StoryPiece>, span: Gap, row: Option<usize>) {
    if span.end <= span.start {
        return;
    }
    match pieces.last_mut() {
        Some(last) if last.row == row => last.span.end = span.end,
        _ => pieces.push(StoryPiece { span, row }),
    }
}
