//! Repairs settings that a partition in force has lost, through the journal and as part of the partition's own layer.
//!
//! Undo then restores the state before the partition. For settings that the partition changed, its first write has that state.
//! For settings that were right then, the layer's `found` has it. For later ones, it is what the repair found. The value that
//! another program wrote in between is in the journal too (`Change::before`), for information only; it is not restored.

use crate::actions;
use crate::enact::{Others, unfinished};
use crate::entry::Entry;
use crate::journal::{Journal, JournalState, Storage};
use crate::layers::Layer;
use crate::record::Event;
use crate::stage::{Noting, Stage};
use crate::undo::no_partition;
use crate::{ApplyError, Busy, System};
use machine::{CpuSet, Machine, Version};
use plan::{Action, Change, Finding, FindingId, Level, OnRefusal};

/// What was repaired.
#[derive(Debug, Default)]
pub struct Mended {
    /// Every change with its outcome.
    pub entries: Vec<Entry>,
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

/// Makes changes that a partition in force needs. The caller holds the lock of the state directory and has read the
/// machine under it. Kernel refusals are reported and do not stop the rest.
///
/// # Errors
/// A journal with an unfinished operation, [`ApplyError::NoPartition`], or an error of writing the journal.
pub fn mend(
    system: &dyn System,
    storage: &dyn Storage,
    machine: &Machine,
    request: RepairRequest,
) -> Result<Mended, ApplyError> {
    let RepairRequest {
        partition,
        changes,
        tool,
    } = request;
    let nobody = |names: &[&str]| no_partition(partition, names);
    let mut journal = Journal::open(storage)?.ok_or_else(|| nobody(&[]))?;
    match journal.state(machine.kernel.boot_id.as_deref()) {
        JournalState::InForce => {}
        JournalState::Void | JournalState::Ended => return Err(nobody(&[])),
        JournalState::Unfinished | JournalState::Resizing => return Err(unfinished(&journal)),
    }
    let layers = journal.layers();
    let layer = layers
        .iter()
        .find(|layer| layer.is_live() && layer.is_partition() && layer.intent.name.as_str() == partition)
        .ok_or_else(|| {
            let live = layers
                .iter()
                .filter(|layer| layer.is_live() && layer.is_partition());
            nobody(&live.map(|layer| layer.intent.name.as_str()).collect::<Vec<_>>())
        })?;
    let seq = layer.seq;
    let isolating = layer.intent.cpus.clone();
    let stood: Vec<Option<String>> = changes.iter().map(|change| stood(layer, change)).collect();
    let changes: Vec<Change> = changes.iter().cloned().map(reported).collect();
    let context = RepairContext {
        system,
        machine,
        others: Others::of(&journal, machine),
        isolating,
    };
    let of = journal.append(Event::Mending {
        layer: seq,
        tool: tool.to_owned(),
        pid: std::process::id(),
        changes: changes.clone(),
    })?;
    let mut mended = Mended::default();
    let made = changes
        .iter()
        .zip(&stood)
        .try_for_each(|(change, stood)| context.make(&mut journal, change, stood.as_deref(), &mut mended));
    journal.append(Event::Mended { of })?;
    made.map(|()| mended)
}

/// A refusal undoes nothing here: the partition stays active, whether or not the repair succeeds.
fn reported(mut change: Change) -> Change {
    if let Action::Write { on_refusal, .. } = &mut change.action {
        *on_refusal = OnRefusal::Report;
    }
    change
}

/// What the file of a change held before the layer, if that was recorded; it was not for later files.
fn stood(layer: &Layer, change: &Change) -> Option<String> {
    match &change.action {
        Action::Write { path, .. } => layer.stood(path).map(str::to_owned),
        _ => None,
    }
}

/// What all changes of a repair need.
struct RepairContext<'a> {
    system: &'a dyn System,
    machine: &'a Machine,
    others: Others,
    /// The CPUs of the partition.
    isolating: CpuSet,
}

impl RepairContext<'_> {
    /// Makes one change; `stood` is what its file held before the partition.
    fn make(
        &self,
        journal: &mut Journal,
        change: &Change,
        stood: Option<&str>,
        mended: &mut Mended,
    ) -> Result<(), ApplyError> {
        let hierarchy = self.machine.cgroups.cpuset.as_ref();
        let mut stage = Stage {
            system: self.system,
            journal,
            version: hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version),
            mount: hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str()),
            noting: Noting::OneByOne,
            others: &self.others.cgroups,
            taken: &self.others.taken,
            usual: std::slice::from_ref(&self.others.usual),
            pins: &mut None,
            isolating: &self.isolating,
            busy: Busy::default(),
            stood,
            findings: &mut mended.findings,
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
        mended.entries.push(Entry {
            seq: step.seq,
            change: change.id.clone(),
            before: step.before,
            after: step.after,
            outcome: step.outcome,
        });
        Ok(())
    }
}
