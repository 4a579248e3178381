//! Reads the layers from the journal: each apply is a layer on top of the earlier ones, and each can be undone while
//! the others stay.
//!
//! What belongs to one partition alone (its cgroup, files of its CPUs) ends with it. What several share (interrupt
//! masks, the housekeeping set) is recomputed from the state before the first of them.

use crate::record::{ChangeOutcome, JournalEvent, JournalRecord};
use machine::{CpuSet, Hierarchy, is_within};
use plan::{Action, Change, Intent, IntentKind, ReadbackComparison, UndoMethod};
use std::collections::{BTreeMap, BTreeSet};

/// The reason of a layer that belongs to a lease.
pub const LEASE_REASON: &str = "lease";

/// How far a layer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerState {
    /// Its apply started and has not ended.
    Applying,
    /// All its changes were made.
    InForce,
    /// Its undo started and has not ended.
    Undoing,
    /// It was undone.
    Undone,
}

/// One apply, as recorded in the journal.
#[derive(Clone, Debug)]
pub struct ApplyLayer<'r> {
    /// `seq` of its `begin`.
    pub seq: u64,
    /// `seq` of the last record of its apply.
    pub end: u64,
    /// When it started, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The boot that it belongs to.
    pub boot_id: &'r str,
    /// Version of the tool.
    pub tool: &'r str,
    /// The process that applied it.
    pub pid: u32,
    /// Why (`apply`, `prove`).
    pub reason: &'r str,
    /// Token of its guard.
    pub guard: Option<&'r str>,
    /// The intended partition.
    pub intent: &'r Intent,
    /// CPUs of the layers that were active when it started.
    pub beside: CpuSet,
    /// The planned changes, and those that repairs added.
    pub changes: Vec<&'r Change>,
    /// Every file of the former state.
    pub files: &'r BTreeMap<String, String>,
    /// The settings that the plan was based on.
    pub found: &'r BTreeMap<String, String>,
    /// Its `will` and `did` records, in order.
    pub records: Vec<&'r JournalRecord>,
    /// How far it got.
    pub state: LayerState,
    /// Whether the user confirmed it.
    pub confirmed: bool,
    /// Why it was undone, as far as it was.
    pub undone_why: Option<&'r str>,
}

/// Every layer of a journal, first to last.
#[must_use]
pub fn layers(records: &[JournalRecord]) -> Vec<ApplyLayer<'_>> {
    let mut layers: Vec<ApplyLayer> = Vec::new();
    // The layer that the current writes belong to: the last that started, unless an older one is being repaired.
    let mut repaired: Option<u64> = None;
    for record in records {
        if matches!(record.event, JournalEvent::Begin { .. } | JournalEvent::Mended { .. }) {
            repaired = None;
        }
        match &record.event {
            JournalEvent::Begin { .. } => layers.extend(ApplyLayer::started(record, &layers)),
            JournalEvent::Will { .. } | JournalEvent::Did { .. } => {
                if let Some(layer) = written(&mut layers, repaired) {
                    layer.records.push(record);
                    layer.end = repaired.map_or(record.seq, |_| layer.end);
                }
            }
            JournalEvent::Mending {
                layer: seq, changes, ..
            } => {
                repaired = Some(*seq);
                if let Some(layer) = named(&mut layers, Some(*seq)) {
                    layer.add(changes);
                }
            }
            JournalEvent::Applied { .. } => {
                if let Some(layer) = layers.last_mut() {
                    layer.state = LayerState::InForce;
                    layer.end = record.seq;
                }
            }
            JournalEvent::Confirmed { layer } => {
                if let Some(layer) = named(&mut layers, *layer) {
                    layer.confirmed = true;
                }
            }
            JournalEvent::UndoBegin { layer, why, .. } => {
                if let Some(layer) = named(&mut layers, *layer) {
                    layer.state = LayerState::Undoing;
                    layer.undone_why = Some(why);
                }
            }
            JournalEvent::Undone { layer } => {
                if let Some(layer) = named(&mut layers, *layer) {
                    layer.state = LayerState::Undone;
                }
            }
            JournalEvent::Joined { .. }
            | JournalEvent::Threading { .. }
            | JournalEvent::Moving { .. }
            | JournalEvent::Moved { .. }
            | JournalEvent::Demoted { .. }
            | JournalEvent::Resizing { .. }
            | JournalEvent::Resized { .. }
            | JournalEvent::Mended { .. }
            | JournalEvent::Undid { .. } => {}
        }
    }
    layers
}

/// The layer that the current writes belong to.
fn written<'l, 'r>(layers: &'l mut [ApplyLayer<'r>], repaired: Option<u64>) -> Option<&'l mut ApplyLayer<'r>> {
    match repaired {
        Some(_) => named(layers, repaired),
        None => layers.last_mut(),
    }
}

fn named<'l, 'r>(layers: &'l mut [ApplyLayer<'r>], seq: Option<u64>) -> Option<&'l mut ApplyLayer<'r>> {
    match seq {
        None => layers.first_mut(),
        Some(seq) => layers.iter_mut().find(|layer| layer.seq == seq),
    }
}

impl<'r> ApplyLayer<'r> {
    /// The layer that a record starts, on top of these.
    fn started(record: &'r JournalRecord, below: &[ApplyLayer]) -> Option<ApplyLayer<'r>> {
        let JournalEvent::Begin {
            boot_id,
            tool,
            pid,
            reason,
            guard,
            intent,
            changes,
            files,
            found,
        } = &record.event
        else {
            return None;
        };
        Some(ApplyLayer {
            beside: isolated(&below.iter().filter(|other| other.is_live()).collect::<Vec<_>>()),
            seq: record.seq,
            end: record.seq,
            at_ns: record.at_ns,
            boot_id,
            tool,
            pid: *pid,
            reason,
            guard: guard.as_deref(),
            intent,
            changes: changes.iter().collect(),
            files,
            found,
            records: Vec::new(),
            state: LayerState::Applying,
            confirmed: false,
            undone_why: None,
        })
    }

    /// Adds the changes of a repair that it does not have yet.
    fn add(&mut self, changes: &'r [Change]) {
        let known: BTreeSet<&str> = self.changes.iter().map(|change| change.id.as_str()).collect();
        let is_new = |change: &&Change| !known.contains(change.id.as_str());
        let new: Vec<&Change> = changes.iter().filter(is_new).collect();
        self.changes.extend(new);
    }
}

impl ApplyLayer<'_> {
    /// Whether any of its changes is still active.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state != LayerState::Undone
    }

    /// Whether it is a partition, not a list of explicitly requested changes.
    #[must_use]
    pub fn is_partition(&self) -> bool {
        self.intent.kind == IntentKind::Partition
    }

    /// Whether it is a lease, which ends with its owner.
    #[must_use]
    pub fn is_lease(&self) -> bool {
        self.reason == LEASE_REASON
    }

    /// Its change with this identifier.
    #[must_use]
    pub fn change(&self, id: &str) -> Option<&Change> {
        self.changes.iter().copied().find(|change| change.id == id)
    }

    /// What a file held before it, if that was recorded; it was not for later files.
    #[must_use]
    pub fn content_before(&self, path: &str) -> Option<&str> {
        self.found
            .get(path)
            .or_else(|| self.files.get(path))
            .map(String::as_str)
    }

    /// Path of its cgroup below the mount of a hierarchy.
    #[must_use]
    pub fn cgroup(&self, hierarchy: &Hierarchy) -> Option<String> {
        let path = self.intent.cgroup_path(hierarchy);
        path.strip_prefix(&hierarchy.mount).map(str::to_owned)
    }

    /// The directory of the v2 cgroup that it makes a partition.
    #[must_use]
    pub fn partition_dir(&self) -> Option<&str> {
        self.changes.iter().find_map(|change| match &change.action {
            Action::MakePartition { path, .. } => Some(path.rsplit_once('/')?.0),
            _ => None,
        })
    }

    /// How a started write ended; `None` if that was never recorded.
    #[must_use]
    pub fn outcome(&self, will: u64) -> Option<&ChangeOutcome> {
        self.records.iter().find_map(|record| match &record.event {
            JournalEvent::Did { of, outcome, .. } if *of == will => Some(outcome),
            _ => None,
        })
    }

    /// Whether a change of it affects this partition alone, so that no other one can need it.
    #[must_use]
    pub fn owns(&self, change: &Change, hierarchy: Option<&Hierarchy>) -> bool {
        if self.intent.kind == IntentKind::ByHand {
            return true;
        }
        let path = match &change.action {
            // Each layer removes its own CPUs from the list again.
            Action::BanCpus { .. } | Action::CycleCpus { .. } => return true,
            Action::Write {
                compare: ReadbackComparison::Includes,
                ..
            } => return true,
            Action::MoveTasks { .. } | Action::NarrowTasks { .. } => return false,
            action => match path_of(action) {
                Some(path) => path,
                None => return false,
            },
        };
        if let Some(hierarchy) = hierarchy {
            let own = self.intent.cgroup_path(hierarchy);
            if is_within(path, &own) {
                return true;
            }
            if is_within(path, &hierarchy.mount) {
                return false;
            }
        }
        // Files of one CPU: partitions have no CPU in common.
        let is_cpu = |name: &str| {
            name.strip_prefix("cpu")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        };
        path.split('/').any(is_cpu)
    }
}

impl ApplyLayer<'_> {
    /// The other layers that need what a change of this one made: all of them, except that the housekeeping set
    /// concerns only those that use the same one, and a controller only those that enable it in the same cgroup.
    #[must_use]
    pub fn sharing_layers<'o, 'r>(
        &self,
        change: &Change,
        others: &[&'o ApplyLayer<'r>],
        hierarchy: Option<&Hierarchy>,
    ) -> Vec<&'o ApplyLayer<'r>> {
        let keeps = |layer: &ApplyLayer| layer.intent.housekeeping_path(hierarchy?);
        let place = match &change.action {
            Action::MoveTasks { to, .. } => Some(to.as_str()),
            action => path_of(action),
        };
        let covered = keeps(self).filter(|kept| place.is_some_and(|place| is_within(place, kept)));
        let is_named = is_controller(change);
        let shares = |other: &&&ApplyLayer| match is_named {
            true => other.changes.iter().any(|own| own.target == change.target),
            false => covered.is_none() || keeps(other) == covered,
        };
        others.iter().filter(shares).copied().collect()
    }
}

/// Whether a change enables a controller in a cgroup: layers in place do so in different ones.
pub(crate) fn is_controller(change: &Change) -> bool {
    match &change.action {
        Action::StartSlice { .. } => true,
        Action::Write { compare, undo, .. } => *compare == ReadbackComparison::Word && *undo == UndoMethod::Restore,
        _ => false,
    }
}

/// The file or directory that an action changes.
fn path_of(action: &Action) -> Option<&str> {
    match action {
        Action::Write { path, .. }
        | Action::MakeSet { path }
        | Action::RemoveSet { path }
        | Action::StartSlice { path, .. }
        | Action::MakePartition { path, .. }
        | Action::GiveFile { path, .. } => Some(path),
        Action::BanCpus { .. } | Action::CycleCpus { .. } | Action::MoveTasks { .. } | Action::NarrowTasks { .. } => {
            None
        }
    }
}

/// The combined CPUs of several layers.
#[must_use]
pub fn isolated(layers: &[&ApplyLayer]) -> CpuSet {
    CpuSet::union(layers.iter().map(|layer| &layer.intent.cpus))
}
