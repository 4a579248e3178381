//! Control intervals for the injected ones: the same probe on the same CPU, over intervals of the same lengths and
//! distances in which nothing is injected. Unexplained time there does not come from the injector. It is reported next
//! to the unexplained time of the injected intervals and never subtracted.

use super::{Injection, ScoredGaps, score::times};
use serde::{Deserialize, Serialize};

/// Sums over intervals, with or without injections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// Number of intervals. With 0, nothing is known.
    pub count: u64,
    /// Total length. Where two intervals overlap, their common time counts twice here and below.
    pub watched_ns: u64,
    /// Time in gaps during the intervals.
    pub stolen_ns: u64,
    /// The part of [`Intervals::stolen_ns`] that an interruption accounts for.
    pub explained_ns: u64,
}

impl Intervals {
    /// Sums over the intervals of these acts.
    #[must_use]
    pub fn of(acts: &[Injection], seen: &ScoredGaps) -> Intervals {
        let mut all = Intervals::default();
        for act in acts {
            let (from, to) = (act.begin_raw_ns, act.end_raw_ns + seen.slack_ns);
            let (stolen_ns, explained_ns) = times(seen, from, to);
            all.add(&Intervals {
                count: 1,
                watched_ns: to.saturating_sub(from),
                stolen_ns,
                explained_ns,
            });
        }
        all
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Intervals) {
        self.count += other.count;
        self.watched_ns += other.watched_ns;
        self.stolen_ns += other.stolen_ns;
        self.explained_ns += other.explained_ns;
    }

    /// Stolen time that no interruption accounts for.
    #[must_use]
    pub fn unexplained_ns(&self) -> u64 {
        self.stolen_ns.saturating_sub(self.explained_ns)
    }

    /// The same in microseconds per second of these intervals; `None` if there are no intervals.
    #[must_use]
    pub fn unexplained_us_per_s(&self) -> Option<u64> {
        let per_s = u128::from(self.unexplained_ns()) * 1_000_000 / u128::from(self.watched_ns).max(1);
        (self.watched_ns > 0).then(|| u64::try_from(per_s).unwrap_or(u64::MAX))
    }
}

/// The intervals of these acts, shifted by some nanoseconds into a time without injections.
#[must_use]
pub fn later(acts: &[Injection], by_ns: u64) -> Vec<Injection> {
    let moved = |act: &Injection| Injection {
        begin_raw_ns: act.begin_raw_ns + by_ns,
        end_raw_ns: act.end_raw_ns + by_ns,
        culprit: act.culprit.clone(),
    };
    acts.iter().map(moved).collect()
}

/// From the start of the first of all these acts to the end of the last; `None` if there are no acts.
#[must_use]
pub fn span(acts: &[Vec<Injection>]) -> Option<(u64, u64)> {
    let all = || acts.iter().flatten();
    let first = all().map(|act| act.begin_raw_ns).min()?;
    let last = all().map(|act| act.end_raw_ns).max()?;
    Some((first, last))
}

#[cfg(test)]
mod tests {
    use super::super::{DisturbingThread, ReportedGap, ReportedGapPart};
    use super::*;

    fn injected(begin_raw_ns: u64, end_raw_ns: u64) -> Injection {
        Injection {
            begin_raw_ns,
            end_raw_ns,
            culprit: DisturbingThread {
                pid: 7,
                comm: "munmap".to_owned(),
                cpu: 0,
            },
        }
    }

    /// A gap of which only the first part is explained.
    fn gap(cpu: u32, start_ns: u64, explained_ns: u64, unexplained_ns: u64) -> ReportedGap {
        let middle_ns = start_ns + explained_ns;
        let end_ns = middle_ns + unexplained_ns;
        let part = |start_ns, end_ns, class: Option<&str>| ReportedGapPart {
            start_ns,
            end_ns,
            class: class.map(str::to_owned),
            ..ReportedGapPart::default()
        };
        ReportedGap {
            cpu,
            start_ns,
            end_ns,
            parts: vec![part(start_ns, middle_ns, Some("tick")), part(middle_ns, end_ns, None)],
        }
    }

    #[test]
    fn control_intervals_have_the_same_number_and_lengths() {
        let acts = [injected(1_000, 2_000), injected(5_000, 5_500)];
        let quiet = later(&acts, 10_000);
        let gaps = [
            gap(1, 1_100, 300, 50),
            gap(1, 11_000, 0, 20),
            // Half of this gap lies behind the slack of the second interval.
            gap(1, 15_500, 0, 200),
            gap(1, 13_000, 0, 400),
            gap(0, 11_000, 0, 900),
        ];
        let seen = ScoredGaps {
            gaps: &gaps,
            cpu: 1,
            slack_ns: 100,
            absent: &[],
        };
        let (with, without) = (Intervals::of(&acts, &seen), Intervals::of(&quiet, &seen));
        assert_eq!((with.count, with.watched_ns), (2, 1_700));
        assert_eq!((without.count, without.watched_ns), (2, 1_700));
        assert_eq!((with.stolen_ns, with.unexplained_ns()), (350, 50));
        assert_eq!((without.stolen_ns, without.unexplained_ns()), (120, 120));
        assert_eq!(without.unexplained_us_per_s(), Some(120 * 1_000_000 / 1_700));
        assert_eq!(Intervals::default().unexplained_us_per_s(), None);
    }

    #[test]
    fn the_span_covers_all_intervals() {
        let acts = [
            vec![injected(5, 9), injected(20, 30)],
            vec![],
            vec![injected(3, 4), injected(8, 25)],
        ];
        assert_eq!(span(&acts), Some((3, 30)));
        assert_eq!(span(&[vec![]]), None);
    }
}
