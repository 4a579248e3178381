//! Time that the program did not get, gap by gap: which part of it some interruption took, which part nothing explains.
//!
//! The way from the program into the first event of an interruption, and from its last event back, is in the gap and has no
//! event of its own. It counts as part of that interruption as long as it is as short as it usually is in this run; what
//! is longer stays unexplained.

/// Time without the program, in units of the trace clock (nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// First moment.
    pub start: u64,
    /// First moment after it.
    pub end: u64,
}

/// Edges from which the usual length is learnt.
const SAMPLE: usize = 4_096;
/// An edge up to so many times the usual one is still one.
const USUAL_TIMES: u64 = 4;
/// Below this an edge is always one: a few cache misses in the entry code.
const SHORTEST_NS: u64 = 1_000;

/// One stretch of a gap.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// Some context ran.
    Context(u64),
    /// Nothing that an event tells.
    Blank(u64),
}

/// A stretch of a gap beside an interruption for which there is no event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) len_ns: u64,
    /// Serial of the context that it lies beside.
    pub(crate) beside: u64,
}

/// The gap in progress.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<Piece>,
}

impl Pieces {
    pub(crate) fn context(&mut self, serial: u64) {
        if !matches!(self.pieces.last(), Some(Piece::Context(last)) if *last == serial) {
            self.pieces.push(Piece::Context(serial));
        }
    }

    pub(crate) fn blank(&mut self, len_ns: u64) {
        match self.pieces.last_mut() {
            Some(Piece::Blank(last)) => *last += len_ns,
            _ if len_ns == 0 => {}
            _ => self.pieces.push(Piece::Blank(len_ns)),
        }
    }

    /// Ends the gap: its edges, and the time in it that lies beside nothing.
    pub(crate) fn end(&mut self) -> (Vec<Edge>, u64, bool) {
        let pieces = std::mem::take(&mut self.pieces);
        let context = |piece: Option<&Piece>| match piece {
            Some(Piece::Context(serial)) => Some(*serial),
            _ => None,
        };
        let (mut edges, mut alone_ns) = (Vec::new(), 0);
        for (at, piece) in pieces.iter().enumerate() {
            let Piece::Blank(len_ns) = *piece else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|before| context(pieces.get(before)));
            match before.or_else(|| context(pieces.get(at + 1))) {
                Some(beside) => edges.push(Edge { len_ns, beside }),
                None => alone_ns += len_ns,
            }
        }
        let outside = edges.is_empty() && pieces.iter().all(|piece| matches!(piece, Piece::Blank(_)));
        (edges, alone_ns, outside)
    }
}

/// Tells how long an edge usually is.
#[derive(Debug, Default)]
pub(crate) struct Usual {
    sample: Vec<u64>,
    known: Option<u64>,
}

impl Usual {
    /// Notes one; true when enough are there and [`Usual::split`] may be asked.
    pub(crate) fn note(&mut self, edge: &Edge) -> bool {
        if self.known.is_none() {
            self.sample.push(edge.len_ns);
            if self.sample.len() >= SAMPLE {
                self.settle();
            }
        }
        self.known.is_some()
    }

    /// Takes what there is as enough, unless it was already.
    pub(crate) fn settle(&mut self) {
        if self.known.is_some() {
            return;
        }
        self.sample.sort_unstable();
        let median = self.sample.get(self.sample.len() / 2).copied();
        self.known = Some(median.unwrap_or(0));
        self.sample = Vec::new();
    }

    /// Which part of an edge belongs to the interruption beside it; the rest is unexplained.
    pub(crate) fn split(&self, edge: &Edge) -> u64 {
        let usual = self.known.unwrap_or(0);
        if edge.len_ns <= (usual * USUAL_TIMES).max(SHORTEST_NS) {
            edge.len_ns
        } else {
            usual.min(edge.len_ns)
        }
    }
}
