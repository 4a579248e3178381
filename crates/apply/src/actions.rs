//! Implements each kind of planned action, one file per kind.

mod ban_cpus;
pub(crate) mod cycle_cpus;
mod give_file;
mod leaving;
mod make_partition;
mod make_set;
mod move_tasks;
mod narrow_tasks;
mod remove_set;
mod start_slice;
mod write;

pub(crate) use start_slice::control_of;

use crate::ApplyError;
use crate::error::refusal;
use crate::stage::{ActionContext, RecordingMode, StepResult};
use plan::{Action, Change};

/// Makes one change.
///
/// # Errors
/// A journal error before the write, or a refusal that the plan treats as fatal.
pub(crate) fn enact(stage: &mut ActionContext, change: &Change) -> Result<StepResult, ApplyError> {
    if let Some((cpus, list)) = leaving::domain(stage, change)? {
        stage.busy = stage.system.keep_busy(&cpus, &list);
    }
    let step = by_kind(stage, change);
    if step.is_ok() {
        stage.busy.until_outside(stage.system);
    }
    let list = format!("{}/{}", stage.mount, stage.version.entry_file());
    std::mem::take(&mut stage.busy).end(stage.system, &list);
    step
}

fn by_kind(stage: &mut ActionContext, change: &Change) -> Result<StepResult, ApplyError> {
    match &change.action {
        Action::Write {
            path,
            value,
            compare,
            on_refusal,
            ..
        } => write::enact(
            stage,
            change,
            write::WriteRequest {
                path,
                value,
                compare: *compare,
                on_refusal: *on_refusal,
            },
        ),
        Action::MakeSet { path } => make_set::enact(stage, change, path),
        Action::RemoveSet { path } => remove_set::enact(stage, change, path),
        Action::StartSlice { unit, path, nodes } => {
            start_slice::enact(stage, change, &start_slice::SliceRequest { unit, path, nodes })
        }
        Action::MakePartition { path, words } => make_partition::enact(stage, change, path, words),
        Action::GiveFile { path, uid, gid, undo } => give_file::enact(
            stage,
            change,
            &give_file::FileOwnership {
                path,
                uid: *uid,
                gid: *gid,
                undo: *undo,
            },
        ),
        Action::MoveTasks { from, to, cpus, who } => move_tasks::enact(
            stage,
            change,
            &move_tasks::MoveRoute {
                from,
                to,
                cpus,
                movers: who,
            },
        ),
        Action::BanCpus { daemon, cpus } => ban_cpus::enact(stage, change, *daemon, cpus),
        Action::NarrowTasks {
            isolated,
            housekeeping,
            partition,
        } => narrow_tasks::enact(stage, change, isolated, housekeeping, partition),
        Action::CycleCpus { cpus } => cycle_cpus::enact(stage, change, cpus),
    }
}

/// Whether a change takes CPUs from unpinned tasks and first records which tasks are pinned.
pub(crate) fn narrows(change: &Change) -> bool {
    match &change.action {
        Action::Write { path, compare, .. } => write::narrows_sets(path, *compare),
        Action::MakePartition { .. } | Action::MoveTasks { .. } => true,
        Action::MakeSet { .. }
        | Action::RemoveSet { .. }
        | Action::StartSlice { .. }
        | Action::GiveFile { .. }
        | Action::BanCpus { .. }
        | Action::NarrowTasks { .. }
        | Action::CycleCpus { .. } => false,
    }
}
