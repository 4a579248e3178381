//! Counts events on each measured CPU over the run. Each count has its source, or a reason why it is missing.
//!
//! Registers that a CPU must read itself are read before and after the window, never during it:
//! reading them sends the CPU an interrupt. The samplers sleep then, so it causes no recorded gap.

mod own;
mod rt_throttled;
mod smi;
mod steal;
mod thermal;
mod throttling;

use crate::labels::RealtimeLimits;
use crate::{CountResult, ThreadResult};
use machine::{CpuId, CpuSet, MapEntries};
use root::{Root, RootError};
use std::collections::BTreeMap;

/// A number, or the reason why it is missing.
pub(crate) type CountValue = Result<u64, NotCounted>;

/// Why a number is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotCounted {
    /// A fixed reason, as a sentence.
    #[error("{0}")]
    Because(&'static str),
    /// The file does not exist, with the reason that it has then.
    #[error("there is no {path}: {because}")]
    NoFile {
        /// The file.
        path: String,
        /// Why it does not exist.
        because: &'static str,
    },
    /// The file holds no number.
    #[error("{path} contains no number")]
    NoNumber {
        /// The file.
        path: String,
    },
    /// Only root may read the file.
    #[error("only root may read {path}")]
    Denied {
        /// The file.
        path: String,
    },
    /// The file cannot be read; the error as text, because readings are copied.
    #[error("{0}")]
    Unreadable(String),
}

impl From<&RootError> for NotCounted {
    fn from(error: &RootError) -> NotCounted {
        match error {
            RootError::Denied { path, .. } => NotCounted::Denied { path: path.clone() },
            other => NotCounted::Unreadable(other.to_string()),
        }
    }
}

/// One kind of count.
pub(crate) struct CountRow {
    /// Its name in results.
    pub name: &'static str,
    /// The unit of the number; `ns` for a time.
    pub unit: &'static str,
    /// The source; `#` is the CPU's number.
    pub source: &'static str,
    /// How the number is obtained.
    pub way: CountMethod,
}

/// How a number is obtained.
pub(crate) enum CountMethod {
    /// A counter of each CPU: its increase from before the window to after it.
    Grown(fn(&Root, &CpuSet) -> BTreeMap<CpuId, CountValue>),
    /// A condition that holds or not: how often it held in the two readings before and after.
    Seen(fn(&Root, &CpuSet) -> BTreeMap<CpuId, CountValue>),
    /// Derived from the thread's result.
    Found(fn(&ThreadResult, &RealtimeLimits) -> CountValue),
}

/// All counts.
#[rustfmt::skip] // One line each.
pub(crate) const ROWS: &[CountRow] = &[
    smi::ROW,
    thermal::CORE,
    thermal::PACKAGE,
    steal::ROW,
    throttling::REAL_TIME,
    throttling::FAIR_SERVER,
    rt_throttled::ROW,
    own::PAGE_FAULTS,
    own::VOLUNTARY,
    own::INVOLUNTARY,
];

/// All counters that must be read, at one moment, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountSnapshot(BTreeMap<&'static str, BTreeMap<CpuId, CountValue>>);

impl CountSnapshot {
    /// Reads all counters of these CPUs.
    pub(crate) fn take(root: &Root, cpus: &CpuSet) -> CountSnapshot {
        let readings = ROWS.iter().filter_map(|row| match row.way {
            CountMethod::Grown(ask) | CountMethod::Seen(ask) => Some((row.name, ask(root, cpus))),
            CountMethod::Found(_) => None,
        });
        CountSnapshot(readings.into_map())
    }

    fn of(&self, name: &str, cpu: CpuId) -> CountValue {
        let known = self.0.get(name).and_then(|by_cpu| by_cpu.get(&cpu));
        known.cloned().unwrap_or(Err(NotCounted::Because("it was not read")))
    }
}

/// The counts of one thread. `looks` are the readings before and after the window.
pub(crate) fn counts(
    result: &ThreadResult,
    limits: &RealtimeLimits,
    looks: Option<[&CountSnapshot; 2]>,
) -> Vec<CountResult> {
    ROWS.iter().map(|row| count(row, result, limits, looks)).collect()
}

fn count(
    row: &CountRow,
    result: &ThreadResult,
    limits: &RealtimeLimits,
    looks: Option<[&CountSnapshot; 2]>,
) -> CountResult {
    let cpu = result.cpu;
    let at_both = |join: fn(u64, u64) -> CountValue| {
        let [before, after] = looks.ok_or(NotCounted::Because("it is known at the end of the run"))?;
        join(before.of(row.name, cpu)?, after.of(row.name, cpu)?)
    };
    let known = match row.way {
        CountMethod::Grown(_) => at_both(|before, after| {
            after
                .checked_sub(before)
                .ok_or(NotCounted::Because("the counter was reset during the measurement"))
        }),
        CountMethod::Seen(_) => at_both(|before, after| Ok(before + after)),
        CountMethod::Found(find) => find(result, limits),
    };
    let (count, why) = match known {
        Ok(count) => (Some(count), None),
        Err(why) => (None, Some(why.to_string())),
    };
    CountResult {
        name: row.name.to_owned(),
        count,
        unit: row.unit.to_owned(),
        source: row.source.replace('#', &cpu.to_string()),
        why,
    }
}

/// Reads the number of each CPU individually.
fn each(cpus: &CpuSet, ask: impl Fn(CpuId) -> CountValue) -> BTreeMap<CpuId, CountValue> {
    cpus.iter().map(|cpu| (cpu, ask(cpu))).into_map()
}

/// Reads a number from a file. If it is missing, returns the reason that the caller gave.
fn number_in(root: &Root, path: &str, because: &'static str) -> CountValue {
    match root.value(path) {
        Ok(Some(text)) => text.parse().map_err(|_| NotCounted::NoNumber { path: path.to_owned() }),
        Ok(None) => Err(NotCounted::NoFile {
            path: path.to_owned(),
            because,
        }),
        Err(error) => Err((&error).into()),
    }
}

#[cfg(test)]
mod tests;
