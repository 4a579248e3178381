//! What one tool says about one run, whatever it is called and however it writes.

/// Durations that the tool tells apart from no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DurationBin {
    /// Shortest duration inside.
    pub(crate) low_ns: u64,
    /// First duration above it; `None` for what holds everything above.
    pub(crate) high_ns: Option<u64>,
    /// How many.
    pub(crate) count: u64,
}

/// One run as the tool tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolReading {
    /// Shorter gaps are not told apart from none.
    pub(crate) floor_ns: u64,
    /// All durations (gaps, or how late wake-ups were), ascending.
    pub(crate) bins: Vec<DurationBin>,
    /// Begin and end of each gap on `CLOCK_MONOTONIC`, from tools that say so; complete, or absent.
    pub(crate) gaps: Option<Vec<(u64, u64)>>,
    /// How long it measured.
    pub(crate) duration_ns: u64,
    /// What it should have recorded, from tools that say so.
    pub(crate) expected: Option<u64>,
    /// What it recorded.
    pub(crate) recorded: u64,
    /// What it says it did not record, from tools that say so.
    pub(crate) missed: Option<u64>,
    /// Turns of a busy loop, from tools that count them.
    pub(crate) iterations: Option<u64>,
    /// The shortest turn.
    pub(crate) iteration_min_ns: Option<u64>,
    /// What the tool itself says about its sampler: page faults and voluntary switches.
    pub(crate) own: Option<(u64, u64)>,
}

impl ToolReading {
    /// How many durations lie in `low..high`. Bins that stick out are counted by where they begin.
    pub(crate) fn within(&self, low_ns: u64, high_ns: u64) -> u64 {
        let inside = |bin: &&DurationBin| bin.low_ns >= low_ns && bin.low_ns < high_ns;
        self.bins.iter().filter(inside).map(|bin| bin.count).sum()
    }

    /// Above this the tool tells no durations apart.
    pub(crate) fn ceiling_ns(&self) -> Option<u64> {
        let open = self.bins.iter().find(|bin| bin.high_ns.is_none());
        open.map(|bin| bin.low_ns)
    }

    /// The mean turn of a busy loop.
    pub(crate) fn iteration_mean_ns(&self) -> Option<f64> {
        let turns = self.iterations.filter(|&turns| turns > 0)?;
        Some(self.duration_ns as f64 / turns as f64)
    }
}

/// Bins from lower bounds of one width each; the last may be open.
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
