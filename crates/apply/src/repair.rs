//! Repairs settings that an active partition has lost, through the journal and as part of the partition's own layer.
//!
//! Undo then restores the state before the partition. For settings that the partition changed, its first write has that state.
//! For settings that were right then, the layer's `found` has it. For later ones, it is what the repair found. The value that
//! another program wrote in between is in the journal too (`Change::before`), for information only; it is not restored.

use crate::actions;
use crate::enact::{OtherPartitions, unfinished};
use crate::entry::ChangeEntry;
use crate::journal::{Journal, JournalState, Storage};
use crate::layers::ApplyLayer;
use crate::record::JournalEvent;
use crate::stage::{ActionContext, RecordingMode};
use crate::undo::no_partition;
use crate::{ApplyError, BusyLoops, System};
use machine::{CpuSet, Machine, Version};
use plan::{Action, Change, Finding, FindingId, Level, RefusalPolicy};

/// What was repaired.
#[derive(Debug, Default)]
pub struct RepairOutcome {
    /// Every change with its outcome.
    pub entries: Vec<ChangeEntry>,
    /// What the user should know: refusals.
    pub findings: Vec<Finding>,
}

/// A repair of one partition.
#[derive(Clone, Copy, Debug)]
pub struct RepairRequest<'a> {
    /// Its name.
    pub partition: &'a str,
    /// The changes that it needs.
    pub changes: &'a [Change],
    /// Version of the tool, for the journal.
    pub tool: &'a str,
}

/// Makes changes that an active partition needs. The caller holds the lock of the state directory and has read the
/// machine under it. Kernel refusals are reported and do not stop the rest.
///
/// # Errors
/// A journal with an unfinished operation, [`ApplyError::NoPartition`], or an error of writing the journal.
pub fn repair(
    system: &dyn System,
    storage: &dyn Storage,
    machine: &Machine,
    request: RepairRequest,
) -> Result<RepairOutcome, ApplyError> {
    let RepairRequest {
        partition,
        changes,
        tool,
    } = request;
    let no_such_partition = |names: &[&str]| no_partition(partition, names);
    let mut journal = Journal::open(storage)?.ok_or_else(|| no_such_partition(&[]))?;
    match journal.state(machine.kernel.boot_id.as_deref()) {
        JournalState::InForce => {}
        JournalState::Void | JournalState::Ended => return Err(no_such_partition(&[])),
        JournalState::Unfinished | JournalState::Resizing => return Err(unfinished(&journal)),
    }
    let layers = journal.layers();
    let layer = layers
        .iter()
        .find(|layer| layer.is_live() && layer.is_partition() && layer.intent.name.as_str() == partition)
        .ok_or_else(|| {
            let live = layers.iter().filter(|layer| layer.is_live() && layer.is_partition());
            no_such_partition(&live.map(|layer| layer.intent.name.as_str()).collect::<Vec<_>>())
        })?;
    let seq = layer.seq;
    let isolating = layer.intent.cpus.clone();
    let former_values: Vec<Option<String>> = changes.iter().map(|change| former_value(layer, change)).collect();
    let changes: Vec<Change> = changes.iter().cloned().map(reported).collect();
    let context = RepairContext {
        system,
        machine,
        others: OtherPartitions::of(&journal, machine),
        isolating,
    };
    let of = journal.append(JournalEvent::Mending {
        layer: seq,
        tool: tool.to_owned(),
        pid: std::process::id(),
        changes: changes.clone(),
    })?;
    let mut result = RepairOutcome::default();
    let made = changes
        .iter()
        .zip(&former_values)
        .try_for_each(|(change, former)| context.make(&mut journal, change, former.as_deref(), &mut result));
    journal.append(JournalEvent::Mended { of })?;
    made.map(|()| result)
}

/// A refusal undoes nothing here: the partition stays active, whether or not the repair succeeds.
fn reported(mut change: Change) -> Change {
    if let Action::Write { on_refusal, .. } = &mut change.action {
        *on_refusal = RefusalPolicy::Report;
    }
    change
}

/// What the file of a change held before the layer, if that was recorded; it was not for later files.
fn former_value(layer: &ApplyLayer, change: &Change) -> Option<String> {
    match &change.action {
        Action::Write { path, .. } => layer.content_before(path).map(str::to_owned),
        _ => None,
    }
}

/// What all changes of a repair need.
struct RepairContext<'a> {
    system: &'a dyn System,
    machine: &'a Machine,
    others: OtherPartitions,
    /// The CPUs of the partition.
    isolating: CpuSet,
}

impl RepairContext<'_> {
    /// Makes one change; `former` is what its file held before the partition.
    fn make(
        &self,
        journal: &mut Journal,
        change: &Change,
        former: Option<&str>,
        outcome: &mut RepairOutcome,
    ) -> Result<(), ApplyError> {
        let hierarchy = self.machine.cgroups.cpuset.as_ref();
        let mut stage = ActionContext {
            system: self.system,
            journal,
            version: hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version),
            mount: hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str()),
            recording_mode: RecordingMode::OneByOne,
            others: &self.others.cgroups,
            reserved_cpus: &self.others.cpus,
            usual: std::slice::from_ref(&self.others.usual),
            pins: &mut None,
            threads: &mut None,
            isolating: &self.isolating,
            busy: BusyLoops::default(),
            content_before: former,
            findings: &mut outcome.findings,
        };
        let step = match actions::enact(&mut stage, change) {
            // What cannot be repaired is reported, and the rest is repaired.
            Err(ApplyError::Unable { why, next }) => {
                stage
                    .findings
                    .push(Finding::new(Level::Error, FindingId::REFUSED, &change.target, why).fix(next));
                return Ok(());
            }
            step => step?,
        };
        outcome.entries.push(ChangeEntry {
            seq: step.seq,
            change: change.id.clone(),
            before: step.before,
            after: step.after,
            outcome: step.outcome,
        });
        Ok(())
    }
}
