//! Removes interruptions from the gaps of a CPU.

use blame::{Gap, GapStory, StoryPiece, TransitionTimes};

/// A gap that remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemainingGap {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    /// The part of it that takes the place of removed interruptions: ways in and out.
    pub(crate) way_ns: u64,
    /// Whether none of it has a known cause.
    pub(crate) is_unexplained: bool,
}

/// Passes each gap that remains without the rows for which `is_removed` is set. A removed interruption in the middle of a
/// gap leaves two gaps. Time without a row remains.
///
/// An interruption of a removed one then interrupts the program instead, and takes the time for the way from the program and
/// back in addition, as long as the removed one lasted. If that leaves no time between two of them, they are one gap.
pub(crate) fn for_each_remaining(
    stories: &[GapStory],
    is_removed: &[bool],
    transitions: TransitionTimes,
    mut pass: impl FnMut(RemainingGap),
) {
    for story in stories {
        let mut open: Option<UnfinishedGap> = None;
        let mut removed_ns = 0;
        for piece in &story.pieces {
            let Gap { start, end } = piece.span;
            let length_ns = end.saturating_sub(start);
            if piece.row.and_then(|row| is_removed.get(row)) == Some(&true) {
                removed_ns = length_ns.saturating_add(removed_ns);
                continue;
            }
            let in_ns = if piece.row.is_some() { transitions.in_ns } else { 0 };
            let out_ns = open.as_ref().map_or(0, |open| open.out_ns);
            if removed_ns > in_ns.saturating_add(out_ns) {
                open.take().into_iter().for_each(|open| pass(open.ended(out_ns)));
            }
            // What lay between two that are one gap now was removed.
            if let Some(open) = &mut open {
                open.gap.way_ns = open.gap.way_ns.saturating_add(removed_ns);
            }
            let open = open.get_or_insert_with(|| UnfinishedGap::new(start, in_ns.min(removed_ns).min(start)));
            removed_ns = 0;
            open.add(piece, transitions);
        }
        open.into_iter().for_each(|open| pass(open.ended(removed_ns)));
    }
}

/// A gap whose end is not known yet.
struct UnfinishedGap {
    gap: RemainingGap,
    /// How long the way out of its last piece takes.
    out_ns: u64,
}

impl UnfinishedGap {
    fn new(start_ns: u64, way_ns: u64) -> UnfinishedGap {
        let gap = RemainingGap {
            start_ns: start_ns - way_ns,
            length_ns: 0,
            way_ns,
            is_unexplained: true,
        };
        UnfinishedGap { gap, out_ns: 0 }
    }

    fn add(&mut self, piece: &StoryPiece, transitions: TransitionTimes) {
        self.gap.length_ns = piece.span.end.saturating_sub(self.gap.start_ns);
        self.gap.is_unexplained &= piece.row.is_none();
        self.out_ns = if piece.row.is_some() { transitions.out_ns } else { 0 };
    }

    /// The gap, if this much time after it was removed.
    fn ended(mut self, removed_ns: u64) -> RemainingGap {
        let way_ns = self.out_ns.min(removed_ns);
        self.gap.length_ns = self.gap.length_ns.saturating_add(way_ns);
        self.gap.way_ns = self.gap.way_ns.saturating_add(way_ns);
        self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(pieces: &[(u64, u64, Option<usize>)]) -> GapStory {
        let span = |start, end| Gap { start, end };
        GapStory {
            gap: span(pieces[0].0, pieces[pieces.len() - 1].1),
            pieces: pieces
                .iter()
                .map(|(start, end, row)| StoryPiece {
                    span: span(*start, *end),
                    row: *row,
                })
                .collect(),
        }
    }

    /// Start, length, and length without the way in and out.
    fn exposed(pieces: &[(u64, u64, Option<usize>)]) -> Vec<(u64, u64, u64)> {
        let mut found = Vec::new();
        let times = TransitionTimes { in_ns: 5, out_ns: 2 };
        for_each_remaining(&[story(pieces)], &[true, false], times, |gap| {
            found.push((gap.start_ns, gap.length_ns, gap.length_ns - gap.way_ns))
        });
        found
    }

    fn remaining(pieces: &[(u64, u64, Option<usize>)], removed: &[bool]) -> Vec<(u64, u64, bool)> {
        let mut found = Vec::new();
        for_each_remaining(&[story(pieces)], removed, TransitionTimes::default(), |gap| {
            found.push((gap.start_ns, gap.length_ns, gap.is_unexplained))
        });
        found
    }

    #[test]
    fn what_interrupted_a_removed_interruption_takes_the_way_in_and_out_too() {
        let within = [(100, 150, Some(0)), (150, 153, Some(1)), (153, 200, Some(0))];
        assert_eq!(exposed(&within), [(145, 10, 3)]);
        let alone = [(100, 110, Some(1))];
        assert_eq!(exposed(&alone), [(100, 10, 10)], "its way is in it already");
        let first = [(100, 110, Some(1)), (110, 111, Some(0))];
        assert_eq!(exposed(&first), [(100, 11, 10)], "no longer than the removed time");
        let blank = [(100, 150, Some(0)), (150, 160, None), (160, 200, Some(0))];
        assert_eq!(exposed(&blank), [(150, 10, 10)]);
        let near = [(100, 110, Some(1)), (110, 117, Some(0)), (117, 120, Some(1))];
        assert_eq!(
            exposed(&near),
            [(100, 20, 13)],
            "the program runs at no time between them"
        );
        let apart = [(100, 110, Some(1)), (110, 118, Some(0)), (118, 120, Some(1))];
        assert_eq!(exposed(&apart), [(100, 12, 10), (113, 7, 2)]);
    }

    #[test]
    fn what_remains_is_within_the_gap_and_in_order() {
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let mut removed_parts = 0;
        for _ in 0..20_000 {
            let mut at = 100 + below(9);
            let mut pieces = Vec::new();
            for _ in 0..=below(6) {
                let end = at + 1 + below(12);
                pieces.push((at, end, [None, Some(0), Some(1)][below(3) as usize]));
                at = end;
            }
            let gap = (pieces[0].0, at);
            let (in_ns, out_ns) = (below(7), below(4));
            let mut last = gap.0;
            for_each_remaining(
                &[story(&pieces)],
                &[true, false],
                TransitionTimes { in_ns, out_ns },
                |left| {
                    let end = left.start_ns + left.length_ns;
                    assert!(last <= left.start_ns && end <= gap.1, "{pieces:?}: {left:?}");
                    assert!(left.way_ns < left.length_ns, "{pieces:?}: {left:?}");
                    removed_parts += left.start_ns - last;
                    last = end;
                },
            );
        }
        assert!(removed_parts > 20_000, "{removed_parts}");
    }

    #[test]
    fn what_remains_keeps_its_place() {
        let pieces = [
            (100, 110, Some(0)),
            (110, 130, Some(1)),
            (130, 160, Some(0)),
            (160, 165, None),
        ];
        assert_eq!(remaining(&pieces, &[false, false]), [(100, 65, false)]);
        assert_eq!(remaining(&pieces, &[false, true]), [(100, 10, false), (130, 35, false)]);
        assert_eq!(remaining(&pieces, &[true, false]), [(110, 20, false), (160, 5, true)]);
        assert_eq!(
            remaining(&pieces, &[true, true]),
            [(160, 5, true)],
            "unexplained time is never removed"
        );
    }
}
