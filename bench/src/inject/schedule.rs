//! Schedules disturbances: all lengths in random order, at random distances that exactly fill the time.

use super::failed;
use super::random::Random;
use xtask::error::TaskResult;

/// Minimum time between two disturbances during which the sampler has the CPU, so that they are two separate gaps.
const APART_NS: u64 = 200_000;

/// One planned disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedDisturbance {
    /// Time since the start of the schedule.
    pub(crate) at_ns: u64,
    /// Its length.
    pub(crate) length_ns: u64,
}

/// Places the disturbances within this many milliseconds.
///
/// # Errors
/// The disturbances do not fit.
pub(crate) fn of(lengths_ns: &[u64], milliseconds: u64, seed: u64) -> TaskResult<Vec<PlannedDisturbance>> {
    let mut random = Random::new(seed);
    let mut lengths = lengths_ns.to_vec();
    random.shuffle(&mut lengths);
    let all_ns = milliseconds.saturating_mul(1_000_000);
    let fixed_ns: u64 = lengths.iter().map(|ns| ns + APART_NS).sum();
    let Some(free_ns) = all_ns.checked_sub(fixed_ns + APART_NS) else {
        let needed = (fixed_ns + APART_NS).div_ceil(1_000_000);
        return Err(failed(format!(
            "{} disturbances need {needed} ms and {milliseconds} ms were given; give more time or fewer events",
            lengths.len()
        )));
    };
    // One more distance than disturbances: the last one is the remaining time.
    let distances: Vec<f64> = (0..=lengths.len()).map(|_| random.exponential()).collect();
    let scale = free_ns as f64 / distances.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut at_ns = 0;
    let planned = lengths.iter().zip(&distances).map(|(&length_ns, distance)| {
        at_ns += APART_NS + (distance * scale) as u64;
        let planned = PlannedDisturbance { at_ns, length_ns };
        at_ns += length_ns;
        planned
    });
    Ok(planned.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbances_keep_a_distance_and_fit_the_time() {
        let lengths: Vec<u64> = (0..100).map(|n| 5_000 * (n % 7 + 1)).collect();
        let planned = of(&lengths, 100, 9).unwrap();
        assert_eq!(planned.len(), 100);
        for pair in planned.windows(2) {
            assert!(pair[0].at_ns + pair[0].length_ns + APART_NS <= pair[1].at_ns);
        }
        let last = planned.last().unwrap();
        assert!(last.at_ns + last.length_ns + APART_NS <= 100_000_000);
        assert!(last.at_ns > 60_000_000, "they fill the time: {last:?}");
        let mut back: Vec<u64> = planned.iter().map(|one| one.length_ns).collect();
        assert_ne!(back, lengths, "in another order");
        back.sort_unstable();
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        assert_eq!(back, sorted, "and each of them once");
        assert_eq!(of(&lengths, 100, 9).unwrap(), planned, "the seed repeats it");
    }

    #[test]
    fn a_schedule_that_does_not_fit_is_refused_with_the_needed_time() {
        let message = of(&[5_000_000; 10], 50, 1).unwrap_err().to_string();
        assert!(message.contains("need 53 ms"), "{message}");
    }
}
