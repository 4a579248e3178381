//! The samples of a study, cell by cell: what its page, its tables and its scripts are made of.

use crate::units::time;
use formats::statistics::{Span, quantile};
use formats::{Bucket, Kind, Recording, Series};
use std::collections::BTreeMap;

/// Quantiles of tables of cells.
pub(crate) const SHARES: [f64; 3] = [0.5, 0.99, 0.999];

/// A cell with its runs.
#[derive(Clone, Debug)]
pub struct StudyCell<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its level of each axis: the axis, then the level.
    pub levels: Vec<(String, String)>,
    /// Its runs, none or more.
    pub runs: Vec<&'a Recording>,
}

/// All samples of one cell.
pub(crate) struct Samples<'a> {
    pub cell: &'a str,
    pub runs: usize,
    pub all: Series,
    /// The largest of each run.
    pub worst_ns: Vec<u64>,
}

impl Samples<'_> {
    /// The least of all.
    pub(crate) fn least(&self) -> Option<String> {
        self.all.buckets.first().map(|bucket| time(bucket.low_ns))
    }

    /// What no sample of this share is above, as far as the files tell.
    pub(crate) fn at_most(&self, share: f64) -> Option<u64> {
        quantile(&self.all, share).map(|span: Span| span.high_ns.unwrap_or(span.low_ns))
    }

    /// The largest of each run, from the least of them to the most.
    pub(crate) fn worst(&self) -> Option<String> {
        match (self.worst_ns.iter().min(), self.worst_ns.iter().max()) {
            (Some(low), Some(high)) if low != high => Some(format!("{} to {}", time(*low), time(*high))),
            (_, high) => high.map(|high| time(*high)),
        }
    }
}

/// What was measured of that kind in each cell, without those that have nothing of it.
pub(crate) fn measured<'a>(kind: Kind, cells: &'a [StudyCell<'a>]) -> Vec<Samples<'a>> {
    cells.iter().filter_map(|cell| together(cell, kind)).collect()
}

/// The samples of all runs of a cell, of one kind; `None` where there are none.
fn together<'a>(cell: &StudyCell<'a>, kind: Kind) -> Option<Samples<'a>> {
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
    // Whoever does not tell what was above its buckets leaves that unknown of all.
    all.overflow = of_kind().map(|series| series.overflow).sum();
    let worst = |run: &Recording| {
        let of_run = run.series.iter().filter(|series| series.kind == kind);
        of_run.filter_map(|series| series.stated.max_ns).max()
    };
    Some(Samples {
        cell: cell.name,
        runs: cell.runs.len(),
        all,
        worst_ns: cell.runs.iter().copied().filter_map(worst).collect(),
    })
}
