//! What was counted for each measured CPU over the run, each with where the number comes from, or why there is none.
//!
//! What a CPU must be asked for itself (its registers) is read before the window and after it, never in between:
//! reading it sends the CPU an interrupt. The samplers sleep then, so no gap of it is counted.

mod own;
mod rt_throttled;
mod smi;
mod steal;
mod thermal;
mod throttling;

use crate::labels::Limits;
use crate::{Count, ThreadResult};
use machine::{CpuId, CpuSet};
use root::{Root, RootError};
use std::collections::BTreeMap;

/// A number, or why there is none.
pub(crate) type Known = Result<u64, String>;

/// One thing that is counted.
pub(crate) struct Row {
    /// Its name in results.
    pub name: &'static str,
    /// What the number is a number of; `ns` for a time.
    pub unit: &'static str,
    /// Where it comes from; `#` is the CPU's number.
    pub source: &'static str,
    /// How the number is come by.
    pub way: Way,
}

/// How a number is come by.
pub(crate) enum Way {
    /// A counter of each CPU: what it grew by from before the window to after it.
    Grown(fn(&Root, &CpuSet) -> BTreeMap<CpuId, Known>),
    /// Something that is so or not: how often it was so in the two looks before and after.
    Seen(fn(&Root, &CpuSet) -> BTreeMap<CpuId, Known>),
    /// It follows from what the thread has found.
    Found(fn(&ThreadResult, &Limits) -> Known),
}

/// All that is counted.
#[rustfmt::skip] // One line each.
pub(crate) const ROWS: &[Row] = &[
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

/// All counters that must be asked for, at one moment: by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look(BTreeMap<&'static str, BTreeMap<CpuId, Known>>);

impl Look {
    /// Asks the machine for all counters of these CPUs, at one moment.
    pub(crate) fn take(root: &Root, cpus: &CpuSet) -> Look {
        let asked = ROWS.iter().filter_map(|row| match row.way {
            Way::Grown(ask) | Way::Seen(ask) => Some((row.name, ask(root, cpus))),
            Way::Found(_) => None,
        });
        Look(asked.collect())
    }

    fn of(&self, name: &str, cpu: CpuId) -> Known {
        let known = self.0.get(name).and_then(|by_cpu| by_cpu.get(&cpu));
        known
            .cloned()
            .unwrap_or_else(|| Err("it was not read".to_owned()))
    }
}

/// What was counted for one thread. `looks` are those before and after the window.
pub(crate) fn counts(result: &ThreadResult, limits: &Limits, looks: Option<[&Look; 2]>) -> Vec<Count> {
    ROWS.iter().map(|row| count(row, result, limits, looks)).collect()
}

fn count(row: &Row, result: &ThreadResult, limits: &Limits, looks: Option<[&Look; 2]>) -> Count {
    let cpu = result.cpu;
    let at_both = |join: fn(u64, u64) -> Known| {
        let [before, after] = looks.ok_or_else(|| "it is known when the run is over".to_owned())?;
        join(before.of(row.name, cpu)?, after.of(row.name, cpu)?)
    };
    let known = match row.way {
        Way::Grown(_) => at_both(|before, after| {
            after
                .checked_sub(before)
                .ok_or_else(|| "the counter was set back meanwhile".to_owned())
        }),
        Way::Seen(_) => at_both(|before, after| Ok(before + after)),
        Way::Found(find) => find(result, limits),
    };
    let (count, why) = match known {
        Ok(count) => (Some(count), None),
        Err(why) => (None, Some(why)),
    };
    Count {
        name: row.name.to_owned(),
        count,
        unit: row.unit.to_owned(),
        source: row.source.replace('#', &cpu.to_string()),
        why,
    }
}

/// For each CPU by itself.
fn each(cpus: &CpuSet, ask: impl Fn(CpuId) -> Known) -> BTreeMap<CpuId, Known> {
    cpus.iter().map(|cpu| (cpu, ask(cpu))).collect()
}

/// A number in a file; where there is none, why, in the words of who knows what the file is.
fn number_in(root: &Root, path: &str, absent: &str) -> Known {
    match root.value(path) {
        Ok(Some(text)) => text.parse().map_err(|_| format!("{path} holds no number")),
        Ok(None) => Err(format!("there is no {path}: {absent}")),
        Err(error) => Err(refusal(&error)),
    }
}

fn refusal(error: &RootError) -> String {
    match error {
        RootError::Denied { path, .. } => format!("{path} may be read by root only"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
