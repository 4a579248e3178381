//! Gives an active partition other CPUs or another profile, for `apply --resize` and `cset shield`.
//!
//! The partition is undone and created again under one lock, so that undo stays exact, and its programs are moved back in. If
//! creating the new one fails, the old one is restored. If this process dies in between, the journal shows it until `undo`
//! has restored the state before the partition.

mod hand_over;

pub(crate) use hand_over::hand_over;

use crate::isolation::plan_on;
use crate::partition::{self, ActivePartition};
use crate::{ChangeLock, stop_flag};
use apply::resize::{begin, end};
use apply::{
    ApplyLayer, ApplyOutcome, ApplyRequest, ChangeOutcome, Force, Journal, PartitionTasks, TaskDestination,
    UndoOutcome, UndoRequest, UndoTarget,
};
use machine::Machine;
use plan::{Finding, FindingId, Intent, Level, Plan};
use root::Failure;
use std::sync::atomic::AtomicBool;

/// A partition that was undone to be created again.
struct FormerPartition {
    intent: Intent,
    partition_tasks: PartitionTasks,
}

/// Undoes the partition that is to get another intent. `None` if none of that name is active, or if it already has this intent.
fn make_room(
    changing: &ChangeLock,
    new_intent: &Intent,
    machine: &Machine,
) -> Result<Option<FormerPartition>, Failure> {
    let name = new_intent.name.as_str();
    let Some(partition) = partition::partition_in_force(changing, machine, name)? else {
        return Ok(None);
    };
    let Some(journal) = Journal::open(changing.state())? else {
        return Ok(None);
    };
    let layers = journal.layers();
    let layer = layers
        .iter()
        .find(|layer| layer.is_live() && layer.intent.name == new_intent.name);
    if layer.is_some_and(ApplyLayer::is_lease) {
        return Err(Failure::conflict(
            format!("partition {name} is a lease"),
            "it belongs to its owner, with the CPUs that were leased",
            "release it first; see `quietcore leases`",
        ));
    }
    let intent = layer.map(|layer| layer.intent.clone());
    let Some(intent) = intent.filter(|intent| intent != new_intent) else {
        return Ok(None);
    };
    let partition_tasks = tasks_that_return(changing, &journal, &partition, new_intent)?;
    drop(journal);
    let undone = begin(
        &*changing.host,
        changing.state(),
        name,
        &new_intent.cpus,
        &partition_tasks,
    )?;
    for line in &undone.tasks {
        changing.session.warn(&Failure::conflict(
            "a task keeps its affinity",
            line,
            "change it with `taskset` if the task needs another one",
        ));
    }
    if undone.is_open(Force::No) {
        return Err(Failure::conflict(
            format!("partition {name} cannot be undone to be recreated"),
            undone.remains().join("; "),
            "see `quietcore undo --force` and `undo --skip-changed`, then apply again",
        ));
    }
    Ok(Some(FormerPartition {
        intent,
        partition_tasks,
    }))
}

/// The tasks of a partition that move into the new one. Those of another program's cgroup stay there.
fn tasks_that_return(
    changing: &ChangeLock,
    journal: &Journal,
    partition: &ActivePartition,
    new_intent: &Intent,
) -> Result<PartitionTasks, Failure> {
    if partition.in_place.is_some() {
        return Ok(PartitionTasks::default());
    }
    let dwelling = TaskDestination {
        path: &partition.path,
        cpus: &partition.cpus,
    };
    let tasks = PartitionTasks::of(&*changing.host, journal.records(), partition.version, dwelling)?;
    if new_intent.in_place.is_some() && !tasks.is_empty() {
        let name = &new_intent.name;
        return Err(Failure::conflict(
            format!("partition {name} has programs"),
            "they would lose it to the cgroup of another program",
            format!("move them out or stop them first: `quietcore move --back --from {name}`"),
        ));
    }
    Ok(tasks)
}

/// Applies a plan, in place of the active partition of its name if there is one with another intent. The plan is then made
/// again without that partition.
///
/// # Errors
/// What undo could not restore of the former partition: it is then as undo left it, and nothing else was done. A step of the
/// new partition that failed: the former one is then restored.
pub fn resize(
    changing: &ChangeLock,
    (machine, intent, plan): (&Machine, &Intent, Plan),
    reason: &str,
) -> Result<(Plan, ApplyOutcome), Failure> {
    let session = changing.session;
    // Errors of the plan come before anything is changed.
    if let Some(finding) = plan.findings.iter().find(|finding| finding.level == Level::Error) {
        return Err(Failure::unable(
            "the partition cannot be made",
            &finding.message,
            &finding.fix,
        ));
    }
    let Some(former) = make_room(changing, intent, machine)? else {
        let request = request((machine, intent, &plan), reason, stop_flag());
        let applied = apply::apply(&*changing.host, changing.state(), &request);
        session.refresh();
        return Ok((plan, applied?));
    };
    session.refresh();
    let machine = session.machine().for_plan(session.root());
    let failed = |error| former.failed(error, changing);
    // The intent stays as it was chosen before; only its plan changes without the former partition.
    let earlier = plan;
    let mut plan = plan_on(session, &machine, intent).map_err(|error| failed(error.into()))?;
    plan.choice = earlier.choice;
    let about_place = |finding: &Finding| finding.id == FindingId::PARTITION_IN_PLACE;
    plan.findings.extend(earlier.findings.into_iter().filter(about_place));
    let request = request((&machine, intent, &plan), reason, stop_flag());
    let applied = apply::apply_resized(&*changing.host, changing.state(), &request);
    let mut applied = applied.map_err(|error| failed(error.into()))?;
    former.move_back(changing, &machine, &mut applied, intent)?;
    session.refresh();
    Ok((plan, applied))
}

fn request<'a>(
    (machine, intent, plan): (&'a Machine, &'a Intent, &'a Plan),
    reason: &'a str,
    stop: &'a AtomicBool,
) -> ApplyRequest<'a> {
    ApplyRequest {
        machine,
        intent,
        plan,
        reason,
        tool: env!("CARGO_PKG_VERSION"),
        guard: None,
        stop,
    }
}

impl FormerPartition {
    /// Moves its programs into the new partition. Those that could not be moved are findings.
    fn move_back(
        &self,
        changing: &ChangeLock,
        machine: &Machine,
        applied: &mut ApplyOutcome,
        intent: &Intent,
    ) -> Result<(), Failure> {
        let name = intent.name.as_str();
        let partition = partition::partition_in_force(changing, machine, name)?;
        let (Some(partition), Some(hierarchy)) = (partition, &machine.cgroups.cpuset) else {
            return Err(partition::no_partition(name, &[]));
        };
        let Some(mut journal) = Journal::open(changing.state())? else {
            return Err(partition::no_partition(name, &[]));
        };
        let ground = changing.move_context(hierarchy, &partition.reserved_cpus);
        let dwelling = TaskDestination {
            path: &partition.path,
            cpus: &partition.cpus,
        };
        let arrivals = self.partition_tasks.move_back(&ground, &mut journal, dwelling)?;
        end(changing.state())?;
        let trouble = arrivals.iter().filter_map(|arrival| {
            let task = format!("task {}", arrival.before.key.tid);
            let why = match (&arrival.outcome, arrival.pin_refused) {
                (ChangeOutcome::Done, None) | (ChangeOutcome::Gone, _) => return None,
                (ChangeOutcome::Done, Some(errno)) => {
                    format!(
                        "is inside, but not pinned as before: {}",
                        std::io::Error::from_raw_os_error(errno)
                    )
                }
                (other, _) => format!("was not moved back into partition {name}: {}", other.text()),
            };
            let message = format!("{} {why}", arrival.before.comm);
            Some(
                Finding::new(Level::Error, FindingId::TASK_LEFT_OUT, task, message)
                    .fix("move it in with `quietcore move`"),
            )
        });
        applied.findings.extend(trouble);
        for task in self.partition_tasks.without_policy(&*changing.host) {
            let message = format!("{task} could not be given its previous policy");
            applied
                .findings
                .push(Finding::new(Level::Error, FindingId::POLICY_LOST, task, message).fix("set it again with chrt"));
        }
        Ok(())
    }

    /// Restores the former partition because the new one could not be created, and adds the outcome to the error.
    fn failed(&self, error: Failure, changing: &ChangeLock) -> Failure {
        let name = &self.intent.name;
        let again = match self.make_again(changing) {
            Ok(applied) if applied.findings.iter().all(|finding| finding.level != Level::Error) => {
                format!("partition {name} is as it was before, with CPU {}", self.intent.cpus)
            }
            Ok(_) => {
                format!("partition {name} is active again, but not everything is as before: check its tasks")
            }
            Err(error) => {
                // Its programs are back in their original cgroups; only their policies remain to be restored.
                let undone = self.roll_back(changing).unwrap_or_default();
                let remains = undone.remains().join("; ");
                format!("partition {name} no longer exists: {} {remains}", error.why)
            }
        };
        let why = format!("{}; {again}", error.why);
        Failure { why, ..error }
    }

    fn roll_back(&self, changing: &ChangeLock) -> Result<UndoOutcome, Failure> {
        let boot_id = changing.session.boot_id();
        let request = UndoRequest {
            which: UndoTarget::Named(self.intent.name.as_str()),
            force: Force::No,
            why: "resize",
        };
        Ok(apply::undo(
            &*changing.host,
            changing.state(),
            boot_id.as_deref(),
            request,
        )?)
    }

    fn make_again(&self, changing: &ChangeLock) -> Result<ApplyOutcome, Failure> {
        let (session, root) = (changing.session, changing.session.root());
        session.refresh();
        let machine = session.machine().for_plan(root);
        let plan = plan_on(session, &machine, &self.intent)?;
        let never = AtomicBool::new(false);
        let request = request((&machine, &self.intent, &plan), "resize", &never);
        let mut applied = apply::apply_resized(&*changing.host, changing.state(), &request)?;
        self.move_back(changing, &machine, &mut applied, &self.intent)?;
        Ok(applied)
    }
}
