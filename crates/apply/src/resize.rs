//! Recreates a partition as one operation that consists of an undo and an apply.
//!
//! Its record comes before the first half and holds the policies that taking the partition apart may change. While the
//! operation is open, the journal is not retired, so the former state is recorded at every moment.

use crate::record::JournalEvent;
pub use crate::resize_record::Resize;
use crate::undo::{Force, OpenResize, UndoOutcome, UndoRequest, UndoTarget, no_partition, undo_open};
use crate::{ApplyError, Journal, PartitionTasks, Storage, System};
use machine::CpuSet;

/// Starts to recreate a partition: writes the record, then undoes the existing one. The caller holds the lock of the
/// state directory. It then applies with [`crate::apply_resized`], moves the inhabitants back, and calls [`end`].
///
/// # Errors
/// A journal that cannot be read or written, as for [`crate::undo`].
pub fn begin(
    system: &dyn System,
    storage: &dyn Storage,
    name: &str,
    new_cpus: &CpuSet,
    partition_tasks: &PartitionTasks,
) -> Result<UndoOutcome, ApplyError> {
    let Some(mut journal) = Journal::open(storage)? else {
        return Err(no_partition(name, &[]));
    };
    journal.append(JournalEvent::Resizing {
        name: name.to_owned(),
        cpus: new_cpus.clone(),
        pid: std::process::id(),
        policies: partition_tasks.real_time(),
    })?;
    let request = UndoRequest {
        which: UndoTarget::Named(name),
        force: Force::No,
        why: "resize",
    };
    undo_open(system, journal, request, OpenResize::Continues)
}

/// Ends the operation: the partition exists, and its tasks are back. The records of the former one go into the history.
/// Otherwise a partition that is recreated every minute would have an endless journal.
///
/// # Errors
/// A journal that cannot be read or written.
pub fn end(storage: &dyn Storage) -> Result<(), ApplyError> {
    let Some(mut journal) = Journal::open(storage)? else {
        return Ok(());
    };
    if let Some(open) = Resize::open(journal.records()) {
        journal.append(JournalEvent::Resized { of: open.seq })?;
        // On a full disk the journal stays longer than necessary.
        let _ = journal.archive_finished_layers();
    }
    Ok(())
}
