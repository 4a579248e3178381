//! What the user wants: which CPUs, under which name, how far to go.

use crate::Refusal;
use machine::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A wanted partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Its name.
    pub name: PartitionName,
    /// The CPUs to give away.
    pub cpus: CpuSet,
    /// How far to go.
    pub profile: Profile,
}

/// How far to go. Each profile holds the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Partition, tasks, interrupts.
    Minimal,
    /// All that has no safety or security price.
    #[default]
    Balanced,
    /// All that costs power or comfort too.
    Strict,
}

/// Name of a partition: letters, digits, `_` and `-`, at most 32, not starting with `-`. It becomes part of a
/// cgroup's directory name, so nothing else is let through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PartitionName(String);

impl PartitionName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`Refusal::Name`] for a name that is empty, too long, or holds other characters.
    pub fn new(name: &str) -> Result<PartitionName, Refusal> {
        let letters = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if name.is_empty() || name.len() > 32 || !letters || name.starts_with('-') || name == "housekeeping" {
            return Err(Refusal::Name {
                name: name.chars().take(40).collect(),
            });
        }
        Ok(PartitionName(name.to_owned()))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for PartitionName {
    /// `rt`, as partrt and Machinekit call theirs.
    fn default() -> PartitionName {
        PartitionName("rt".to_owned())
    }
}

impl TryFrom<String> for PartitionName {
    type Error = Refusal;
    fn try_from(name: String) -> Result<PartitionName, Refusal> {
        PartitionName::new(&name)
    }
}

impl From<PartitionName> for String {
    fn from(name: PartitionName) -> String {
        name.0
    }
}

impl fmt::Display for PartitionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
