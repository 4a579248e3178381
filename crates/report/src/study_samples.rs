//! Collects the samples of a study, cell by cell, as input for its page, its tables and its scripts.

use crate::units::time;
use formats::statistics::{ValueRange, quantile};
use formats::{Bucket, Recording, Series, SeriesKind};
use std::collections::BTreeMap;

/// Quantiles in tables of cells.
pub(crate) const SHARES: [f64; 3] = [0.5, 0.99, 0.999];

/// A cell with its runs.
#[derive(Clone, Debug)]
pub struct StudyCell<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its level on each axis: the axis, then the level.
    pub levels: Vec<(String, String)>,
    /// Its runs; may be empty.
    pub runs: Vec<&'a Recording>,
}

/// All samples of one cell.
pub(crate) struct CellSamples<'a> {
    pub cell: &'a str,
    pub runs: usize,
    pub all: Series,
    /// The largest sample of each run.
    pub worst_ns: Vec<u64>,
}

impl CellSamples<'_> {
    /// The smallest sample of all.
    pub(crate) fn least(&self) -> Option<String> {
        self.all.buckets.first().map(|bucket| time(bucket.low_ns))
    }

    /// The upper bound of this share of samples, as far as the files report it.
    pub(crate) fn at_most(&self, share: f64) -> Option<u64> {
        quantile(&self.all, share).map(|span: ValueRange| span.high_ns.unwrap_or(span.low_ns))
    }

    /// The range of the largest samples of all runs, ascending.
    pub(crate) fn worst(&self) -> Option<String> {
        match (self.worst_ns.iter().min(), self.worst_ns.iter().max()) {
            (Some(low), Some(high)) if low != high => Some(format!("{} to {}", time(*low), time(*high))),
            (_, high) => high.map(|high| time(*high)),
        }
    }
}

/// The samples of that kind in each cell, without empty cells.
pub(crate) fn measured<'a>(kind: SeriesKind, cells: &'a [StudyCell<'a>]) -> Vec<CellSamples<'a>> {
    cells.iter().filter_map(|cell| together(cell, kind)).collect()
}

/// The samples of all runs of a cell, of one kind; `None` if there are none.
fn together<'a>(cell: &StudyCell<'a>, kind: SeriesKind) -> Option<CellSamples<'a>> {
    let of_kind = || {
        cell.runs
            .iter()
            .flat_map(|run| &run.series)
            .filter(|series| series.kind == kind)
    };
    let mut all = of_kind().next()?.clone();
    let mut buckets: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for bucket in of_kind().flat_map(|series| &series.buckets) {
        let count = buckets.entry((bucket.low_ns, bucket.width_ns)).or_default();
        *count = count.saturating_add(bucket.count);
    }
    all.buckets = buckets
        .into_iter()
        .map(|((low_ns, width_ns), count)| Bucket {
            low_ns,
            width_ns,
            count,
        })
        .collect();
    // If one file does not report the samples above its buckets, their total is unknown.
    all.overflow = of_kind().map(|series| series.overflow).sum();
    let worst = |run: &Recording| {
        let of_run = run.series.iter().filter(|series| series.kind == kind);
        of_run.filter_map(|series| series.stated.max_ns).max()
    };
    Some(CellSamples {
        cell: cell.name,
        runs: cell.runs.len(),
        all,
        worst_ns: cell.runs.iter().copied().filter_map(worst).collect(),
    })
}
