//! The only code that changes the machine permanently: journal, apply, read back, undo, guard.
//!
//! The order is always the same: a record of the former state goes into the journal, then the write, then the read-back, then a
//! record of the outcome. If the process dies between any two of these, `undo` can finish from the journal.

mod actions;
mod active_partition;
mod bans;
pub mod boot_attempt;
pub mod boot_line;
mod bus;
mod busy;
mod captured;
mod census;
mod enact;
mod ended_moves;
mod entry;
mod error;
mod fingerprint;
mod framing;
pub mod guard;
pub mod installed;
mod journal;
pub mod kprobes;
pub mod latency;
mod layers;
mod ledger;
mod live;
mod masks;
mod notes;
mod original_cgroup;
mod parcel;
mod partition_tasks;
mod record;
mod relocate;
mod repair;
pub mod resize;
mod resize_record;
pub mod restarts;
mod stage;
mod system;
pub mod threads;
pub mod tracing;
mod undo;
mod unpinned_index;

pub use active_partition::{PartitionStatus, active_partitions};
pub use bus::{BusError, wire as bus_wire};
pub use captured::CapturedStorage;
pub use enact::{ApplyOutcome, ApplyRequest, apply, apply_resized};
pub use entry::{ChangeEntry, entries_summary, entries_text};
pub use error::ApplyError;
pub use fingerprint::{Fingerprint, TaskPlacement};
pub use journal::{DurableStorage, History, Journal, JournalState, Storage, history};
pub use layers::{ApplyLayer, LEASE_REASON, LayerState, isolated, layers};
pub use live::Host;
pub use parcel::{Arrival, MoveContext, MovePurpose, MoveUnit, PlannedMove, ThreadMove};
pub use partition_tasks::{PartitionTasks, TaskDestination};
pub use record::{
    ChangeOutcome, Departure, DriftedTask, FormerPolicy, HoldingCgroup, JournalEvent, JournalRecord, StateAfter,
    StateBefore, TaskState,
};
pub use relocate::{TaskOrigins, enter, relocate};
pub use repair::{RepairOutcome, RepairRequest, repair};
pub use system::{BusyLoops, System};
pub use undo::{ActiveIrqbalance, Force, UndoOutcome, UndoRequest, UndoTarget, undo};
