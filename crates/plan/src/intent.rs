//! Defines what the user wants: which CPUs, under which name, and which profile.

use crate::PlanRefusal;
use machine::{CpuSet, Hierarchy, Version};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A requested partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Its name.
    pub name: PartitionName,
    /// The CPUs to isolate.
    pub cpus: CpuSet,
    /// How far to go.
    pub profile: Profile,
    /// Explicitly requested knobs with their requested value; `None` is the knob's default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, Option<String>>,
    /// Knobs of the profile that are left out.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub without: BTreeSet<String>,
    /// Interrupts to move onto the isolated CPUs: numbers, or names with `*`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub irq_here: BTreeSet<String>,
    /// What it represents.
    #[serde(default, skip_serializing_if = "IntentKind::is_partition")]
    pub kind: IntentKind,
    /// Name of the cgroup for everything else. `None` is the default: our own `housekeeping` on v1, and none on v2,
    /// where the partition alone is enough. Front ends set the name that their callers know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub housekeeping: Option<PartitionName>,
    /// v2: path, below the mount, of the cgroup of another program that becomes the partition where it is. `None` is a
    /// cgroup of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<String>,
}

impl Intent {
    /// An intent with the knobs of its profile.
    #[must_use]
    pub fn new(name: PartitionName, cpus: CpuSet, profile: Profile) -> Intent {
        Intent {
            name,
            cpus,
            profile,
            with: BTreeMap::new(),
            without: BTreeSet::new(),
            irq_here: BTreeSet::new(),
            kind: IntentKind::Partition,
            housekeeping: None,
            in_place: None,
        }
    }

    /// Partitions share one set for everything else: this one adopts the name that is already in use. A partition that
    /// is already active keeps its own.
    pub fn share_housekeeping(&mut self, in_force: &[Intent]) {
        let same = in_force.iter().find(|other| other.name == self.name);
        if let Some(other) = same.or(in_force.first()) {
            self.housekeeping.clone_from(&other.housekeeping);
        }
    }

    /// Directory of the cgroup for everything else; on v2 only if it has a name.
    #[must_use]
    pub fn housekeeping_path(&self, hierarchy: &Hierarchy) -> Option<String> {
        match (&self.housekeeping, hierarchy.version) {
            (Some(name), _) => Some(partition_path(hierarchy, name.as_str())),
            (None, Version::V1) => Some(housekeeping_set_path(hierarchy)),
            (None, Version::V2) => None,
        }
    }

    /// Directory of its cgroup.
    #[must_use]
    pub fn cgroup_path(&self, hierarchy: &Hierarchy) -> String {
        match (&self.in_place, hierarchy.version) {
            (Some(cgroup), Version::V2) => hierarchy.dir(cgroup),
            _ => partition_path(hierarchy, self.name.as_str()),
        }
    }

    /// Whether the scheduler balances load inside the partition.
    #[must_use]
    pub fn balances_inside(&self) -> bool {
        self.with.get("cpuset_partition").and_then(Option::as_deref) == Some("root")
    }

    /// The arguments of `apply` that request this intent.
    #[must_use]
    pub fn arguments(&self) -> String {
        let quoted = |option: &str, text: &str| format!("{option} '{}'", text.replace('\'', "'\\''"));
        let mut words = vec![format!("--partition {}", self.name), format!("--cpus {}", self.cpus)];
        if self.profile != Profile::default() {
            words.push(format!("--profile {:?}", self.profile).to_lowercase());
        }
        words.extend(self.with.iter().map(|(knob, value)| match value {
            Some(value) => quoted("--with", &format!("{knob}={value}")),
            None => format!("--with {knob}"),
        }));
        words.extend(self.without.iter().map(|knob| format!("--without {knob}")));
        words.extend(self.irq_here.iter().map(|irq| quoted("--irq-here", irq)));
        words.extend(
            self.in_place
                .iter()
                .map(|path| quoted("--in-place", &format!("cgroup:{path}"))),
        );
        words.join(" ")
    }
}

/// Directory of a partition's cgroup. On v1 it is `/NAME`, the name that users of Machinekit and partrt expect. On v2
/// it is next to the slices of systemd, and its name shows its owner.
#[must_use]
pub fn partition_path(hierarchy: &Hierarchy, name: &str) -> String {
    match hierarchy.version {
        Version::V1 => format!("{}/{name}", hierarchy.mount),
        Version::V2 => format!("{}/quietcore-{name}", hierarchy.mount),
    }
}

/// v1: directory of the set for everything else, unless an intent gives it another name.
#[must_use]
pub fn housekeeping_set_path(hierarchy: &Hierarchy) -> String {
    format!("{}/housekeeping", hierarchy.mount)
}

/// What an intent represents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// A partition.
    #[default]
    Partition,
    /// Explicitly requested changes ([`crate::by_hand`]); they isolate no CPU.
    ByHand,
}

impl IntentKind {
    fn is_partition(&self) -> bool {
        *self == IntentKind::Partition
    }
}

/// How far to go. Each profile includes the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Partition, tasks, interrupts.
    Minimal,
    /// Everything that helps isolation at no significant cost.
    #[default]
    Balanced,
    /// Also what costs power or convenience.
    Strict,
}

/// Name of a partition: letters, digits, `_` and `-`, at most 32, not starting with `-`. It becomes part of a cgroup's
/// directory name, so nothing else is accepted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PartitionName(String);

impl PartitionName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`PlanRefusal::Name`] for a name that is empty, too long, or holds other characters.
    pub fn new(name: &str) -> Result<PartitionName, PlanRefusal> {
        let letters = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if name.is_empty() || name.len() > 32 || !letters || name.starts_with('-') || name == "housekeeping" {
            return Err(PlanRefusal::Name {
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
    /// `rt`, the name that partrt and Machinekit use.
    fn default() -> PartitionName {
        PartitionName("rt".to_owned())
    }
}

impl TryFrom<String> for PartitionName {
    type Error = PlanRefusal;
    fn try_from(name: String) -> Result<PartitionName, PlanRefusal> {
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
