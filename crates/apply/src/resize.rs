//! Making a partition anew as one intention, though it is an undo and an apply.
//!
//! The record of it comes before the first half and names the policies that taking a partition apart may cost. While it
//! is open the journal is not put away, so there is no moment in which nothing tells what was there.

use crate::record::Event;
pub use crate::resize_record::Resize;
use crate::undo::{Force, OpenResize, Undone, Which, undo_open};
use crate::{ApplyError, Inhabitants, Journal, Storage, System};
use machine::CpuSet;

/// Begins to make a partition anew: the record, then the undo of what stands. The caller holds the lock of the state
/// directory, applies next with [`crate::apply_resized`], brings the inhabitants back, and calls [`end`].
///
/// # Errors
/// A journal that cannot be read or written, as [`crate::undo`].
pub fn begin(
    system: &dyn System,
    storage: &dyn Storage,
    name: &str,
    wanted: &CpuSet,
    inhabitants: &Inhabitants,
) -> Result<Undone, ApplyError> {
    let Some(mut journal) = Journal::open(storage)? else {
        return Err(ApplyError::NoPartition {
            name: name.to_owned(),
            in_force: "nothing is".to_owned(),
        });
    };
    journal.append(Event::Resizing {
        name: name.to_owned(),
        cpus: wanted.clone(),
        pid: std::process::id(),
        policies: inhabitants.real_time(),
    })?;
    let which = Which::Named(name);
    undo_open(system, journal, which, Force::No, "resize", OpenResize::GoesOn)
}

/// Ends it: the partition is there, and who lived in it is back. What the journal says of the former one goes into the
/// history, or a partition that is made anew every minute would have an endless journal.
///
/// # Errors
/// A journal that cannot be read or written.
pub fn end(storage: &dyn Storage) -> Result<(), ApplyError> {
    let Some(mut journal) = Journal::open(storage)? else {
        return Ok(());
    };
    if let Some(open) = Resize::open(journal.records()) {
        journal.append(Event::Resized { of: open.seq })?;
        // Where there is no room for it, the journal stays longer than it has to be.
        let _ = journal.put_over_away();
    }
    Ok(())
}
