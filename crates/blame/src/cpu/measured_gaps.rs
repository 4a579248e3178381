//! Attributes the time of measured gaps on one CPU.

use super::{CpuTracker, LOST};
use crate::context::ContextKind;
use crate::gaps::{Edge, Gap};

impl CpuTracker {
    /// Adds measured gaps. They must arrive before the first event in them or after them.
    pub(crate) fn add_gaps(&mut self, gaps: &[Gap]) {
        let Some(all) = &mut self.gaps else {
            return;
        };
        for gap in gaps {
            // Time that is already attributed stays so if two clock readings differ slightly.
            let start = gap.start.max(self.at);
            let place = all.partition_point(|other| other.start <= start);
            all.insert(place, Gap { start, ..*gap });
        }
    }

    /// The gap in progress, or the next one. Clock rounding may make adjacent gaps overlap; no time is stolen twice.
    fn front(&mut self) -> Option<Gap> {
        let gaps = self.gaps.as_mut()?;
        while let Some(gap) = gaps.front_mut() {
            gap.start = gap.start.max(self.gaps_end);
            if gap.end > gap.start {
                return Some(*gap);
            }
            gaps.pop_front();
        }
        None
    }

    /// Ends a gap that extends beyond the window.
    pub(super) fn cut(&mut self) {
        let end = self.window.end;
        if let Some(gap) = self.front().filter(|gap| gap.start < end) {
            self.end_gap(Gap { end, ..gap });
        }
    }

    /// Attributes the time of measured gaps.
    pub(super) fn charge_gaps(&mut self, from: u64, to: u64) {
        while let Some(gap) = self.front() {
            let (start, end) = (gap.start.max(from), gap.end.min(to));
            if start < end {
                let len = end - start;
                let serial = if self.blind {
                    self.unexplained_ns += len;
                    Some(LOST)
                } else {
                    self.owner().map(|owner| {
                        owner.in_gaps_ns += len;
                        owner.serial
                    })
                };
                self.stories.piece(Gap { start, end }, serial);
                match serial {
                    Some(serial) => self.pieces.context(serial),
                    None => self.pieces.blank(len),
                }
            }
            if gap.end > to {
                return;
            }
            self.end_gap(gap);
        }
    }

    fn end_gap(&mut self, gap: Gap) {
        self.gaps_end = gap.end;
        if let Some(gaps) = &mut self.gaps {
            gaps.pop_front();
        }
        self.record_gap(gap);
        self.gap_count += 1;
        self.stolen_ns += gap.end - gap.start;
        self.longest_run_ns = self.longest_run_ns.max(gap.start.saturating_sub(self.running_since));
        self.running_since = gap.end;
        // A fault has no end event; that the program continues is its end.
        let current = self.current;
        self.end_task_contexts(current, |what| *what == ContextKind::Fault);
        self.stories.end();
        let (edges, alone_ns, outside) = self.pieces.end();
        self.unexplained_ns += alone_ns;
        self.outside += u64::from(outside);
        for edge in edges {
            match self.ended_in_gap.get(&edge.beside) {
                Some(place) => self.decide(edge, *place),
                // Missing events have no end.
                None if edge.beside == LOST => self.unexplained_ns += edge.len_ns,
                None => self.waiting.push(edge),
            }
        }
        self.ended_in_gap.clear();
    }

    pub(super) fn decide(&mut self, edge: Edge, place: usize) {
        if self.usual.note(&edge) {
            self.credit(edge, place);
            for (edge, place) in std::mem::take(&mut self.undecided) {
                self.credit(edge, place);
            }
        } else {
            self.undecided.push((edge, place));
        }
    }

    pub(super) fn credit(&mut self, edge: Edge, place: usize) {
        let part = self.usual.split(&edge);
        self.rows.transition(place, part);
        self.unexplained_ns += edge.len_ns - part;
    }
}
