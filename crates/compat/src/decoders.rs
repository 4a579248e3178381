//! Exposes the decoders of external text and bytes as pure functions for the fuzzing targets (`fuzz/targets`).

use crate::cset;
use crate::cset::spec;
use crate::partrt::getopts::getopts;
use machine::CpuSet;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// A CPUSPEC of `cset` on a machine whose highest CPU is `last`, and its mask; `None` if it is invalid.
#[must_use]
pub fn cset_cpus(text: &str, last: u32) -> Option<(CpuSet, String)> {
    let cpus = spec::cpus(text, last).ok()?;
    let mask = spec::hex(&cpus);
    Some((cpus, mask))
}

/// The tasks in a PIDSPEC of `cset`; `None` if it is invalid.
#[must_use]
pub fn cset_pids(text: &str, existing: &BTreeSet<u32>) -> Option<Vec<u32>> {
    spec::pids(text, existing).ok()
}

/// The operands that each command of `cset` finds among these words; `None` if they are invalid.
#[must_use]
pub fn cset_operands(words: &[OsString]) -> Vec<Option<Vec<OsString>>> {
    cset::all_flags()
        .map(|flags| cset::options::parse(flags, words).ok())
        .map(|given| given.map(|given| given.operands))
        .collect()
}

/// The words after the options of `partrt`, whose letters are as in the shell's `getopts`.
#[must_use]
pub fn partrt_operands<'a>(letters: &str, words: &'a [String]) -> &'a [String] {
    getopts(letters, words).1
}
