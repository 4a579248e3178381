//! Collects buckets and spikes from a file, with limits so that hostile files cannot exhaust memory.

use crate::error::ReadError;
use crate::model::{Bucket, Series, SeriesKind, Spike};
use machine::OrderBy;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of non-empty buckets in one file, which is cyclictest's own limit.
pub(crate) const MOST_BUCKETS: u64 = 1_000_000;

/// The maximum number of threads, CPUs or columns in one file.
pub(crate) const MOST_SERIES: u64 = 1 << 14;

/// The maximum number of stated quantiles.
pub(crate) const MOST_QUANTILES: usize = 4_096;

/// The maximum number of spikes per series: the longest are kept.
pub(crate) const MAX_SPIKES: usize = 10_000;

/// The number of non-empty buckets that a file may still add.
pub(crate) struct BucketBudget(u64);

impl Default for BucketBudget {
    fn default() -> BucketBudget {
        BucketBudget(MOST_BUCKETS)
    }
}

impl BucketBudget {
    fn take(&mut self) -> Result<(), ReadError> {
        self.0 = self.0.checked_sub(1).ok_or(ReadError::TooMuch {
            what: "different values",
            most: MOST_BUCKETS,
        })?;
        Ok(())
    }
}

/// Refuses a file with more series than any machine has CPUs.
pub(crate) fn check_series(count: usize) -> Result<(), ReadError> {
    if count as u64 > MOST_SERIES {
        return Err(ReadError::TooMuch {
            what: "threads",
            most: MOST_SERIES,
        });
    }
    Ok(())
}

/// The buckets of one series, by their lower bounds.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<u64, Bucket>);

impl Tally {
    /// Adds samples; false if the sum overflows.
    pub(crate) fn add(
        &mut self,
        low_ns: u64,
        width_ns: u64,
        count: u64,
        room: &mut BucketBudget,
    ) -> Result<bool, ReadError> {
        if count == 0 {
            return Ok(true);
        }
        if let Some(bucket) = self.0.get_mut(&low_ns) {
            let sum = bucket.count.checked_add(count);
            bucket.count = sum.unwrap_or(bucket.count);
            return Ok(sum.is_some());
        }
        room.take()?;
        self.0.insert(
            low_ns,
            Bucket {
                low_ns,
                width_ns: width_ns.max(1),
                count,
            },
        );
        Ok(true)
    }

    /// Adds one exact sample. Above 16,384 units, values that differ by less than 1/8192 share a bucket, so that no run
    /// exhausts memory.
    pub(crate) fn add_exact(&mut self, units: u64, unit_ns: u64, room: &mut BucketBudget) -> Result<bool, ReadError> {
        let step = 1_u64 << units.checked_ilog2().unwrap_or(0).saturating_sub(13);
        let (Some(low), Some(width)) = ((units - units % step).checked_mul(unit_ns), step.checked_mul(unit_ns)) else {
            return Ok(false);
        };
        self.add(low, width, 1, room)
    }

    /// In ascending order.
    pub(crate) fn buckets(self) -> Vec<Bucket> {
        self.0.into_values().collect()
    }
}

/// The longest samples with their times.
#[derive(Default)]
pub(crate) struct Spikes {
    longest: Vec<Spike>,
    seen: u64,
}

impl Spikes {
    pub(crate) fn add(&mut self, spike: Spike) {
        self.seen += 1;
        self.longest.push(spike);
        if self.longest.len() >= 2 * MAX_SPIKES {
            self.cut();
        }
    }

    /// The total number of samples.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    fn cut(&mut self) {
        self.longest
            .order_by_key(|spike| Reverse((spike.duration_ns, spike.at_ns)));
        self.longest.truncate(MAX_SPIKES);
    }

    /// Sorted by time.
    pub(crate) fn in_order(mut self) -> Vec<Spike> {
        if self.longest.len() > MAX_SPIKES {
            self.cut();
        }
        self.longest.order_by_key(|spike| (spike.at_ns, spike.duration_ns));
        self.longest
    }
}

impl Series {
    /// The series of a CPU whose samples are all in this tally.
    pub(crate) fn of_samples(kind: SeriesKind, cpu: Option<u32>, tally: Tally, spikes: Spikes) -> Series {
        Series {
            cpu,
            buckets: tally.buckets(),
            overflow: Some(0),
            spikes: spikes.in_order(),
            ..Series::new(kind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_values_lie_within_their_bucket() {
        for value in [0, 1, 7, 8_191, 16_383, 16_385, 99_999, 123_456_789, u64::MAX] {
            let mut tally = Tally::default();
            assert!(tally.add_exact(value, 1, &mut BucketBudget::default()).unwrap());
            let bucket = tally.buckets()[0];
            assert!(bucket.low_ns <= value && value <= bucket.high_ns(), "{value}");
            assert!(bucket.width_ns == 1 || bucket.width_ns <= value / 8_192);
        }
        assert!(
            !Tally::default()
                .add_exact(u64::MAX, 1_000, &mut BucketBudget::default())
                .unwrap()
        );
    }

    #[test]
    fn only_the_longest_spikes_are_stored() {
        let mut spikes = Spikes::default();
        for at_ns in 0..50_000 {
            spikes.add(Spike {
                at_ns,
                duration_ns: at_ns % 100,
                label: None,
            });
        }
        assert_eq!(spikes.seen(), 50_000);
        let kept = spikes.in_order();
        assert_eq!(kept.len(), MAX_SPIKES);
        assert!(kept.iter().all(|spike| spike.duration_ns >= 80));
        assert!(kept.is_sorted_by_key(|spike| spike.at_ns));
    }

    #[test]
    fn too_many_values_are_refused() {
        let mut room = BucketBudget(2);
        let mut tally = Tally::default();
        assert!(tally.add(1, 1, 1, &mut room).unwrap());
        assert!(tally.add(2, 1, u64::MAX, &mut room).unwrap());
        assert!(!tally.add(2, 1, 1, &mut room).unwrap());
        assert!(tally.add(3, 1, 1, &mut room).is_err());
    }
}
