//! Splits the time that the program did not get, gap by gap: into the parts of interruptions and an unexplained part.
//!
//! The way from the program to the first event of an interruption, and from its last event back, is in the gap and has no
//! event of its own. It counts as part of that interruption up to the length that is usual in this run; the excess stays
//! unexplained.

use serde::{Deserialize, Serialize};

/// Time without the program, in units of the trace clock (nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Gap {
    /// Start, inclusive.
    pub start: u64,
    /// End, exclusive.
    pub end: u64,
}

/// The usual time between a program and the interruptions of its CPU: the part of a gap without an event, in nanoseconds.
/// Within a gap, an interruption of another one is without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionTimes {
    /// From the program to the first event of an interruption.
    pub in_ns: u64,
    /// From the last event back to the program.
    pub out_ns: u64,
}

/// Number of edges from which the usual length is determined.
const SAMPLE: usize = 4_096;
/// An edge up to this many times the usual length is still usual.
const USUAL_TIMES: u64 = 4;
/// Shorter edges are always usual: a few cache misses in the entry code.
const SHORTEST_NS: u64 = 1_000;

/// One piece of a gap.
#[derive(Clone, Copy, Debug)]
enum GapPiece {
    /// A context ran.
    Context(u64),
    /// No event covers it.
    Blank(u64),
}

/// A piece of a gap without an event, next to an interruption.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) way: EdgeDirection,
    pub(crate) len_ns: u64,
    /// Serial of the context next to it.
    pub(crate) beside: u64,
}

/// The direction of an edge. On a virtual machine an interrupt goes through the hypervisor before its first event, so the way
/// in is many times as long as the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeDirection {
    /// From the program into the first interruption of the gap.
    In,
    /// Out of one and into the next, too short for the program to notice.
    Between,
    /// Out of the last one, back into the program.
    Out,
}

impl EdgeDirection {
    /// The direction of a piece, by whether a context of the gap precedes or follows it.
    pub(crate) const fn of(before: bool, after: bool) -> EdgeDirection {
        match (before, after) {
            (false, _) => EdgeDirection::In,
            (true, true) => EdgeDirection::Between,
            (true, false) => EdgeDirection::Out,
        }
    }
}

/// The gap in progress.
#[derive(Debug, Default)]
pub(crate) struct OpenGap {
    pieces: Vec<GapPiece>,
}

impl OpenGap {
    pub(crate) fn context(&mut self, serial: u64) {
        if !matches!(self.pieces.last(), Some(GapPiece::Context(last)) if *last == serial) {
            self.pieces.push(GapPiece::Context(serial));
        }
    }

    pub(crate) fn blank(&mut self, len_ns: u64) {
        match self.pieces.last_mut() {
            Some(GapPiece::Blank(last)) => *last += len_ns,
            _ if len_ns == 0 => {}
            _ => self.pieces.push(GapPiece::Blank(len_ns)),
        }
    }

    /// Ends the gap: returns its edges, and the time next to no context.
    pub(crate) fn end(&mut self) -> (Vec<Edge>, u64, bool) {
        let pieces = std::mem::take(&mut self.pieces);
        let context = |piece: Option<&GapPiece>| match piece {
            Some(GapPiece::Context(serial)) => Some(*serial),
            _ => None,
        };
        let (mut edges, mut alone_ns) = (Vec::new(), 0);
        for (at, piece) in pieces.iter().enumerate() {
            let GapPiece::Blank(len_ns) = *piece else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|before| context(pieces.get(before)));
            let after = context(pieces.get(at + 1));
            let way = EdgeDirection::of(before.is_some(), after.is_some());
            match before.or(after) {
                Some(beside) => edges.push(Edge { way, len_ns, beside }),
                None => alone_ns += len_ns,
            }
        }
        let outside = edges.is_empty() && pieces.iter().all(|piece| matches!(piece, GapPiece::Blank(_)));
        (edges, alone_ns, outside)
    }
}

/// With fewer edges in one direction than this, the edges of all directions determine the usual length.
const LEAST: usize = 8;

/// Determines the usual length of an edge.
#[derive(Debug, Default)]
pub(crate) struct EdgeEstimator {
    sample: Vec<(EdgeDirection, u64)>,
    known: Option<EdgeLengths>,
}

#[derive(Clone, Copy, Debug, Default)]
struct EdgeLengths {
    way_in: u64,
    between: u64,
    out: u64,
}

impl EdgeEstimator {
    /// Records an edge; returns true if there are enough and [`EdgeEstimator::split`] may be called.
    pub(crate) fn note(&mut self, edge: &Edge) -> bool {
        if self.known.is_none() {
            self.sample.push((edge.way, edge.len_ns));
            if self.sample.len() >= SAMPLE {
                self.settle();
            }
        }
        self.known.is_some()
    }

    /// Accepts the edges so far as enough, unless that has already been done.
    pub(crate) fn settle(&mut self) {
        if self.known.is_some() {
            return;
        }
        let of = |way| median(self.sample.iter().filter(|(of, _)| *of == way), LEAST);
        let all = median(self.sample.iter(), 1).unwrap_or(0);
        self.known = Some(EdgeLengths {
            way_in: of(EdgeDirection::In).unwrap_or(all),
            between: of(EdgeDirection::Between).unwrap_or(all),
            out: of(EdgeDirection::Out).unwrap_or(all),
        });
        self.sample = Vec::new();
    }

    /// The usual lengths at the start and the end of a gap.
    pub(crate) fn transitions(&self) -> TransitionTimes {
        let known = self.known.unwrap_or_default();
        TransitionTimes {
            in_ns: known.way_in,
            out_ns: known.out,
        }
    }

    /// The part of an edge that belongs to the interruption next to it; the rest is unexplained.
    pub(crate) fn split(&self, edge: &Edge) -> u64 {
        let known = self.known.unwrap_or_default();
        let usual = match edge.way {
            EdgeDirection::In => known.way_in,
            EdgeDirection::Between => known.between,
            EdgeDirection::Out => known.out,
        };
        if edge.len_ns <= (usual * USUAL_TIMES).max(SHORTEST_NS) {
            edge.len_ns
        } else {
            usual.min(edge.len_ns)
        }
    }
}

/// The median, if there are at least this many.
fn median<'a>(edges: impl Iterator<Item = &'a (EdgeDirection, u64)>, least: usize) -> Option<u64> {
    let mut lengths: Vec<u64> = edges.map(|(_, len_ns)| *len_ns).collect();
    lengths.sort_unstable();
    lengths
        .get(lengths.len() / 2)
        .copied()
        .filter(|_| lengths.len() >= least)
}
