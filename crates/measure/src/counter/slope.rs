//! Computes the actual rate of the counter over the whole run, and its uncertainty.

use super::CounterReading;
use super::kernel_rate::Rate;

/// The counter's rate compared with `CLOCK_MONOTONIC_RAW`, from the first to the last reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slope {
    /// In kHz.
    pub khz: f64,
    /// Maximum error of the two readings, in millionths.
    pub uncertainty_ppm: f64,
}

/// `None` if no time passed between them.
pub(crate) fn slope(start: CounterReading, end: CounterReading) -> Option<Slope> {
    let ns = end.raw_ns.checked_sub(start.raw_ns).filter(|&ns| ns > 0)?;
    let ticks = end.ticks.checked_sub(start.ticks).filter(|&ticks| ticks > 0)?;
    // The counter was read at some moment between the two readings of the clock, at each end.
    let off = (start.width_ns + end.width_ns) as f64 / 2.0;
    Some(Slope {
        khz: ticks as f64 * 1e6 / ns as f64,
        uncertainty_ppm: off * 1e6 / ns as f64,
    })
}

impl Slope {
    /// The difference from the kernel's rate, and the uncertainty of that difference, in millionths.
    pub(crate) fn against(self, rate: &Rate) -> (f64, f64) {
        let ppm = (self.khz / rate.khz - 1.0) * 1e6;
        (ppm, self.uncertainty_ppm + rate.resolution_khz * 1e6 / rate.khz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ticks: u64, raw_ns: u64, width_ns: u64) -> CounterReading {
        CounterReading {
            ticks,
            raw_ns,
            width_ns,
        }
    }

    #[test]
    fn a_rate_error_of_100_ppm_is_detected_and_its_uncertainty_shrinks() {
        let rate = Rate {
            khz: 1_000_000.0,
            resolution_khz: 0.5,
            from: String::new(),
        };
        for (seconds, doubt) in [(1, 0.04), (100, 0.0004)] {
            let ns = seconds * 1_000_000_000;
            let slope = slope(pair(7, 9, 30), pair(7 + ns / 10_000 * 10_001, 9 + ns, 50)).unwrap();
            assert!((slope.uncertainty_ppm - doubt).abs() < 1e-9, "{slope:?}");
            let (ppm, uncertainty) = slope.against(&rate);
            assert!((ppm - 100.0).abs() < 1e-3, "{ppm}");
            assert!((uncertainty - doubt - 0.5).abs() < 1e-6, "{uncertainty}");
        }
        assert_eq!(slope(pair(7, 9, 1), pair(7, 10, 1)), None);
        assert_eq!(slope(pair(7, 9, 1), pair(8, 9, 1)), None);
    }
}
