//! The kernel's own account of a CPU's buffer: `per_cpu/cpuN/stats`.

/// What it counts. A kernel that lacks a row leaves it unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events that are in the buffer and not yet read.
    pub entries: Option<u64>,
    /// Events that newer ones have overwritten.
    pub overrun: Option<u64>,
    /// Events that found the buffer in the middle of a page change, from an interrupt.
    pub commit_overrun: Option<u64>,
    /// Events for which there was no room because the buffer does not overwrite.
    pub dropped: Option<u64>,
    /// Events that were read.
    pub read: Option<u64>,
}

impl Stats {
    /// From the file's text.
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

    /// Events that are gone; nothing when the kernel does not say.
    #[must_use]
    pub fn lost(&self) -> Option<u64> {
        let known = [self.overrun, self.commit_overrun, self.dropped];
        known
            .iter()
            .any(Option::is_some)
            .then(|| known.iter().flatten().sum())
    }
}
