//! Reads the kernel's statistics of a CPU's buffer: `per_cpu/cpuN/stats`.

/// The counters. A row that the kernel lacks is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events that are in the buffer and unread.
    pub entries: Option<u64>,
    /// Events overwritten by newer ones.
    pub overrun: Option<u64>,
    /// Events from an interrupt that were dropped because the buffer was in the middle of a page change.
    pub commit_overrun: Option<u64>,
    /// Events dropped because the buffer was full and does not overwrite.
    pub dropped: Option<u64>,
    /// Events that were read.
    pub read: Option<u64>,
}

impl Stats {
    /// Parses the file's text.
    #[must_use]
    pub fn parse(text: &str) -> Stats {
        let mut stats = Stats::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim().parse().ok();
            match name.trim() {
                "entries" => stats.entries = value,
                "overrun" => stats.overrun = value,
                "commit overrun" => stats.commit_overrun = value,
                "dropped events" => stats.dropped = value,
                "read events" => stats.read = value,
                _ => {}
            }
        }
        stats
    }

    /// Number of lost events; `None` if the kernel does not report it.
    #[must_use]
    pub fn lost(&self) -> Option<u64> {
        let known = [self.overrun, self.commit_overrun, self.dropped];
        known.iter().any(Option::is_some).then(|| known.iter().flatten().sum())
    }
}
