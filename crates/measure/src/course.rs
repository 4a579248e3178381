//! Records values over time: equal intervals, each with its sum or its largest value. The length of the run need not be known in
//! advance, and memory use is constant: as a run continues, the interval length doubles.

use crate::TimeSeries;
use crate::counter::TickPeriod;

/// Maximum number of intervals; a long run uses at least half of them.
const MOST: usize = 256;

/// The shortest interval, as a power of two: about a million ticks, which is a millisecond or less.
const SHORTEST: u32 = 20;

/// The value of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntervalValue {
    /// The sum: time that was taken.
    Sum,
    /// The maximum: lateness.
    Largest,
}

/// The course of one thread, in its own ticks.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    state: IntervalValue,
    start: Option<u64>,
    /// Ticks per interval, as a power of two.
    log2: u32,
    parts: Vec<u64>,
}

impl Course {
    /// An empty course.
    pub(crate) fn new(state: IntervalValue) -> Course {
        Course {
            state,
            start: None,
            log2: SHORTEST,
            parts: Vec::new(),
        }
    }

    /// Adds a value that belongs to one moment or, for a sum, to its duration.
    pub(crate) fn add(&mut self, at: u64, value: u64) {
        let since = at.saturating_sub(*self.start.get_or_insert(at));
        let end = match self.state {
            IntervalValue::Sum => since.saturating_add(value.saturating_sub(1)),
            IntervalValue::Largest => since,
        };
        while end >> self.log2 >= MOST as u64 {
            self.double();
        }
        match self.state {
            IntervalValue::Sum => self.each(since, value, u64::saturating_add),
            IntervalValue::Largest => self.at(since, |largest| largest.max(value)),
        }
    }

    /// Removes a value that was added and turned out to have another cause.
    pub(crate) fn remove(&mut self, at: u64, value: u64) {
        let since = at.saturating_sub(self.start.unwrap_or(at));
        self.each(since, value, u64::saturating_sub);
    }

    /// The result for a window that started at `start`; `None` if it is empty.
    pub(crate) fn over_time(&self, tick_period: TickPeriod, start: u64) -> Option<TimeSeries> {
        Some(TimeSeries {
            begins_ns: tick_period.to_ns(self.start?.saturating_sub(start)),
            part_ns: tick_period.to_ns(1 << self.log2),
            values_ns: self.parts.iter().map(|ticks| tick_period.to_ns(*ticks)).collect(),
        })
    }

    /// Doubles the interval length by merging pairs.
    fn double(&mut self) {
        let both = |pair: &[u64]| match self.state {
            IntervalValue::Sum => pair.iter().fold(0, |sum: u64, part| sum.saturating_add(*part)),
            IntervalValue::Largest => pair.iter().copied().max().unwrap_or(0),
        };
        self.parts = self.parts.chunks(2).map(both).collect();
        self.log2 += 1;
    }

    fn at(&mut self, since: u64, change: impl Fn(u64) -> u64) {
        let place = usize::try_from(since >> self.log2).unwrap_or(MOST).min(MOST - 1);
        if self.parts.len() <= place {
            self.parts.resize(place + 1, 0);
        }
        if let Some(part) = self.parts.get_mut(place) {
            *part = change(*part);
        }
    }

    /// Distributes a duration over the intervals that it overlaps.
    fn each(&mut self, since: u64, value: u64, change: impl Fn(u64, u64) -> u64) {
        let (mut from, end) = (since, since.saturating_add(value));
        while from < end {
            let next = (from | ((1 << self.log2) - 1)).saturating_add(1);
            let here = next.min(end).saturating_sub(from);
            self.at(from, |part| change(part, here));
            from = from.saturating_add(here.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: u64 = 1 << SHORTEST;

    fn of(stands: IntervalValue, values: &[(u64, u64)]) -> TimeSeries {
        let mut course = Course::new(stands);
        for (at, value) in values {
            course.add(*at, *value);
        }
        course.over_time(TickPeriod::NANOSECONDS, 0).unwrap()
    }

    #[test]
    fn a_gap_counts_in_every_part_that_it_overlaps() {
        let seen = of(IntervalValue::Sum, &[(100, 50), (100 + PART - 10, 30 + PART)]);
        assert_eq!((seen.begins_ns, seen.part_ns), (100, PART));
        assert_eq!(seen.values_ns, [60, PART, 20]);
        let seen = of(IntervalValue::Largest, &[(100, 50), (110, 70), (100 + PART, 3 * PART)]);
        assert_eq!(
            seen.values_ns,
            [70, 3 * PART],
            "how late it was does not make it longer"
        );
    }

    #[test]
    fn a_long_run_gets_longer_parts_and_keeps_every_value() {
        let values: Vec<(u64, u64)> = (0..100_000).map(|turn| (turn * PART / 7, 1 + turn % 997)).collect();
        let seen = of(IntervalValue::Sum, &values);
        assert_eq!(
            seen.values_ns.iter().sum::<u64>(),
            values.iter().map(|(_, value)| value).sum::<u64>()
        );
        let (last, _) = values[values.len() - 1];
        assert!((MOST / 2..=MOST).contains(&seen.values_ns.len()), "{seen:?}");
        assert!(seen.part_ns * seen.values_ns.len() as u64 > last, "{seen:?}");
        let seen = of(IntervalValue::Largest, &values);
        assert_eq!(seen.values_ns.iter().max(), Some(&997));
    }

    #[test]
    fn removed_values_disappear_and_extreme_values_are_safe() {
        let mut course = Course::new(IntervalValue::Sum);
        course.add(1_000, 5 * PART);
        course.add(1_000 + 2 * PART, 7);
        course.remove(1_000, 5 * PART);
        let seen = course.over_time(TickPeriod::NANOSECONDS, 0).unwrap();
        assert_eq!(seen.values_ns, [0, 0, 7, 0, 0]);
        for (at, value) in [(0, u64::MAX), (u64::MAX, u64::MAX), (5, 0), (u64::MAX / 2, 9)] {
            course.add(at, value);
            course.remove(at, value);
        }
        assert!(course.parts.len() <= MOST);
        let empty = Course::new(IntervalValue::Largest).over_time(TickPeriod::NANOSECONDS, 0);
        assert_eq!(empty, None);
    }
}
