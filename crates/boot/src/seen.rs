//! Determines the state of our words: which entries have them, and whether the running kernel got them.

use crate::{BootEntry, OwnChanges};
use machine::CpuSet;
use machine::cmdline::{BootWordStage, parse_cmdline, same_name, words};
use serde::{Deserialize, Serialize};

/// All our words in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedWords {
    /// The words on the default line.
    pub line: Option<OwnChanges>,
    /// The entry for one boot.
    pub trial: Option<OwnChanges>,
}

impl RecordedWords {
    /// The words of both.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let all = [&self.line, &self.trial].into_iter().flatten();
        all.flat_map(|ours| ours.words.clone()).collect()
    }
}

/// The state that a boot was seen in, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootObservation {
    /// `live` or `reverted`.
    pub state: String,
    /// The boot.
    pub boot_id: Option<String>,
    /// In nanoseconds since 1970.
    pub at_ns: u64,
}

/// Whether the machine has been booted since the words were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootSinceWrite {
    /// No, it is the same boot.
    SameBoot,
    /// Yes.
    AnotherBoot,
}

/// The progress of words that are in the files.
#[must_use]
pub fn state_after(ours: &[String], running: &str, after: BootSinceWrite) -> BootWordStage {
    match (missing_words(ours, running).is_empty(), after) {
        (true, _) => BootWordStage::Live,
        (false, BootSinceWrite::SameBoot) => BootWordStage::Pending,
        (false, BootSinceWrite::AnotherBoot) => BootWordStage::Reverted,
    }
}

/// The words that are missing from a line.
#[must_use]
pub fn missing_words(required: &[String], line: &str) -> Vec<String> {
    let there: Vec<&str> = words(line).collect();
    let missing = required.iter().filter(|word| !there.contains(&word.as_str()));
    missing.cloned().collect()
}

/// The CPUs that a line already isolates, by any of the parameters that should have the same list. `None` for a list
/// in extended syntax.
#[must_use]
pub fn isolated_by(line: &str) -> Option<CpuSet> {
    const LISTS: &[&str] = &["isolcpus", "nohz_full", "rcu_nocbs"];
    let mut all = CpuSet::new();
    for one in parse_cmdline(line).parameters {
        if !LISTS.iter().any(|name| same_name(name, &one.name)) {
            continue;
        }
        let value = one.value.unwrap_or_default();
        // The flags of isolcpus= come first.
        let list: Vec<&str> = value
            .split(',')
            .skip_while(|part| {
                part.starts_with(|letter: char| letter.is_ascii_alphabetic()) && *part != "N" && *part != "all"
            })
            .collect();
        if !list.is_empty() {
            all = all.or(&CpuSet::parse_list(&list.join(",")).ok()?);
        }
    }
    Some(all)
}

/// Whether an entry has all of some words.
#[must_use]
pub fn has_words(entry: &BootEntry, required: &[String]) -> bool {
    missing_words(required, &entry.line).is_empty()
}
