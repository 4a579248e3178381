//! Separates bars that overlap without nesting.
//!
//! Viewers nest the bars of one line, and end the innermost first. Two that only overlap would be drawn with wrong lengths, so
//! the later one moves to a separate line.

use super::{Mark, Track};

/// The marks of a track in order, grouped by the lines that it needs. The first line exists even if it is empty.
pub(super) fn lanes(track: &Track) -> Vec<Vec<&Mark>> {
    let mut marks: Vec<&Mark> = track.marks.iter().collect();
    // Outer bars come before inner ones.
    marks.sort_by_key(|mark| (mark.at_ns, std::cmp::Reverse(mark.end_ns())));
    let mut lanes: Vec<Lane> = vec![Lane::default()];
    for mark in marks {
        let free = lanes.iter_mut().position(|lane| lane.takes(mark));
        let place = free.unwrap_or_else(|| {
            lanes.push(Lane::default());
            lanes.len() - 1
        });
        if let Some(lane) = lanes.get_mut(place) {
            lane.put(mark);
        }
    }
    lanes.into_iter().map(|lane| lane.marks).collect()
}

#[derive(Default)]
struct Lane<'a> {
    marks: Vec<&'a Mark>,
    /// Ends of the bars that are open, the innermost last.
    open: Vec<u64>,
}

impl<'a> Lane<'a> {
    fn takes(&mut self, mark: &Mark) -> bool {
        while self.open.last().is_some_and(|end| *end <= mark.at_ns) {
            self.open.pop();
        }
        mark.lasts_ns.is_none() || self.open.last().is_none_or(|end| mark.end_ns() <= *end)
    }

    fn put(&mut self, mark: &'a Mark) {
        if mark.lasts_ns.is_some() {
            self.open.push(mark.end_ns());
        }
        self.marks.push(mark);
    }
}

/// Name of a track's line with this number, from 0.
pub(super) fn lane_name(track: &Track, number: usize) -> String {
    match number {
        0 => track.name.clone(),
        number => format!("{} ({})", track.name, number + 1),
    }
}
