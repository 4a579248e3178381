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
    pub(crate) way: Way,
    pub(crate) len_ns: u64,
    /// Serial of the context that it lies beside.
    pub(crate) beside: u64,
}

/// Where an edge leads. On a virtual machine an interrupt goes through the hypervisor before its first event, so the way in
/// is many times as long as the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the program into the first interruption of the gap.
    In,
    /// Out of one and into the next, too quickly for the program to notice.
    Between,
    /// Out of the last one, back into the program.
    Out,
}

impl Way {
    /// Of a stretch with something of the gap before it, or after it.
    pub(crate) const fn of(before: bool, after: bool) -> Way {
        match (before, after) {
            (false, _) => Way::In,
            (true, true) => Way::Between,
            (true, false) => Way::Out,
        }
    }
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
            let after = context(pieces.get(at + 1));
            let way = Way::of(before.is_some(), after.is_some());
            match before.or(after) {
                Some(beside) => edges.push(Edge { way, len_ns, beside }),
                None => alone_ns += len_ns,
            }
        }
        let outside = edges.is_empty() && pieces.iter().all(|piece| matches!(piece, Piece::Blank(_)));
        (edges, alone_ns, outside)
    }
}

/// Fewer edges of a way than this do not tell what is usual; then those of all ways do.
const LEAST: usize = 8;

/// Tells how long an edge usually is.
#[derive(Debug, Default)]
pub(crate) struct Usual {
    sample: Vec<(Way, u64)>,
    known: Option<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    way_in: u64,
    between: u64,
    out: u64,
}

impl Usual {
    /// Notes one; true when enough are there and [`Usual::split`] may be asked.
    pub(crate) fn note(&mut self, edge: &Edge) -> bool {
        if self.known.is_none() {
            self.sample.push((edge.way, edge.len_ns));
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
        let of = |way| median(self.sample.iter().filter(|(of, _)| *of == way), LEAST);
        let all = median(self.sample.iter(), 1).unwrap_or(0);
        self.known = Some(Known {
            way_in: of(Way::In).unwrap_or(all),
            between: of(Way::Between).unwrap_or(all),
            out: of(Way::Out).unwrap_or(all),
        });
        self.sample = Vec::new();
    }

    /// Which part of an edge belongs to the interruption beside it; the rest is unexplained.
    pub(crate) fn split(&self, edge: &Edge) -> u64 {
        let known = self.known.unwrap_or_default();
        let usual = match edge.way {
            Way::In => known.way_in,
            Way::Between => known.between,
            Way::Out => known.out,
        };
        if edge.len_ns <= (usual * USUAL_TIMES).max(SHORTEST_NS) {
            edge.len_ns
        } else {
            usual.min(edge.len_ns)
        }
    }
}

/// The median of at least so many.
fn median<'a>(edges: impl Iterator<Item = &'a (Way, u64)>, least: usize) -> Option<u64> {
    let mut lengths: Vec<u64> = edges.map(|(_, len_ns)| *len_ns).collect();
    lengths.sort_unstable();
    lengths
        .get(lengths.len() / 2)
        .copied()
        .filter(|_| lengths.len() >= least)
}
