//! Removes interruptions from the gaps of a CPU.

use blame::GapStory;

/// A gap that remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemainingGap {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    /// Whether none of it has a known cause.
    pub(crate) is_unexplained: bool,
}

/// Passes each gap that remains without the rows for which `is_removed` is set. A removed interruption in the middle of a
/// gap leaves two gaps. Time without a row remains.
pub(crate) fn for_each_remaining(stories: &[GapStory], is_removed: &[bool], mut pass: impl FnMut(RemainingGap)) {
    for story in stories {
        let mut open: Option<RemainingGap> = None;
        for piece in &story.pieces {
            let is_out = piece
                .row
                .and_then(|row| is_removed.get(row))
                .is_some_and(|removed| *removed);
            if is_out {
                open.take().into_iter().for_each(&mut pass);
                continue;
            }
            let gap = open.get_or_insert(RemainingGap {
                start_ns: piece.span.start,
                length_ns: 0,
                is_unexplained: true,
            });
            gap.length_ns = piece.span.end.saturating_sub(gap.start_ns);
            gap.is_unexplained &= piece.row.is_none();
        }
        open.into_iter().for_each(&mut pass);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blame::{Gap, StoryPiece};

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

    fn remaining(pieces: &[(u64, u64, Option<usize>)], removed: &[bool]) -> Vec<(u64, u64, bool)> {
        let mut found = Vec::new();
        for_each_remaining(&[story(pieces)], removed, |gap| {
            found.push((gap.start_ns, gap.length_ns, gap.is_unexplained))
        });
        found
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
