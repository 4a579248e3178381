//! The result of one run in a form that is common to all tools.

/// A range of durations that the tool does not distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DurationBin {
    /// Shortest duration inside.
    pub(crate) low_ns: u64,
    /// First duration above it; `None` for an unlimited range.
    pub(crate) high_ns: Option<u64>,
    /// Number of durations inside.
    pub(crate) count: u64,
}

/// The result of one run as the tool reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolReading {
    /// Shorter gaps are not detected.
    pub(crate) floor_ns: u64,
    /// All durations (gaps, or delays of wake-ups), ascending.
    pub(crate) bins: Vec<DurationBin>,
    /// Start and end of each gap on `CLOCK_MONOTONIC`, if the tool reports them and the list is complete.
    pub(crate) gaps: Option<Vec<(u64, u64)>>,
    /// Duration of the measurement.
    pub(crate) duration_ns: u64,
    /// Number of expected wake-ups or gaps, if the tool reports it.
    pub(crate) expected: Option<u64>,
    /// Number of recorded ones.
    pub(crate) recorded: u64,
    /// Number of missed ones, if the tool reports it.
    pub(crate) missed: Option<u64>,
    /// Iterations of the busy loop, if the tool counts them.
    pub(crate) iterations: Option<u64>,
    /// The shortest iteration.
    pub(crate) iteration_min_ns: Option<u64>,
    /// Page faults and voluntary switches of the sampler, as the tool itself reports them.
    pub(crate) own: Option<(u64, u64)>,
}

impl ToolReading {
    /// Number of durations in `low..high`. Bins that extend beyond it are counted by their start.
    pub(crate) fn within(&self, low_ns: u64, high_ns: u64) -> u64 {
        let inside = |bin: &&DurationBin| bin.low_ns >= low_ns && bin.low_ns < high_ns;
        self.bins.iter().filter(inside).map(|bin| bin.count).sum()
    }

    /// The tool does not distinguish durations above this.
    pub(crate) fn ceiling_ns(&self) -> Option<u64> {
        let open = self.bins.iter().find(|bin| bin.high_ns.is_none());
        open.map(|bin| bin.low_ns)
    }

    /// The mean iteration of a busy loop.
    pub(crate) fn iteration_mean_ns(&self) -> Option<f64> {
        let turns = self.iterations.filter(|&turns| turns > 0)?;
        Some(self.duration_ns as f64 / turns as f64)
    }
}

/// Makes bins of one width from their lower bounds. The last may be unlimited.
pub(crate) fn bins_of_width(
    counts: impl IntoIterator<Item = (u64, u64)>,
    width_ns: u64,
    open_from: Option<u64>,
) -> Vec<DurationBin> {
    let mut bins: Vec<DurationBin> = counts
        .into_iter()
        .map(|(low_ns, count)| DurationBin {
            low_ns,
            high_ns: (open_from != Some(low_ns)).then_some(low_ns + width_ns),
            count,
        })
        .collect();
    bins.sort_unstable_by_key(|bin| bin.low_ns);
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_within_bounds() {
        let seen = ToolReading {
            bins: bins_of_width([(1_000, 9), (5_000, 3), (6_000, 4), (7_000, 5)], 1_000, Some(7_000)),
            duration_ns: 1_000,
            iterations: Some(50),
            ..ToolReading::default()
        };
        assert_eq!(seen.within(5_000, 7_000), 7);
        assert_eq!(seen.within(4_000, 5_000), 0);
        assert_eq!(seen.within(7_000, u64::MAX), 5);
        assert_eq!(seen.ceiling_ns(), Some(7_000));
        assert_eq!(seen.iteration_mean_ns(), Some(20.0));
        assert_eq!(ToolReading::default().ceiling_ns(), None);
        assert_eq!(ToolReading::default().iteration_mean_ns(), None);
    }
}
