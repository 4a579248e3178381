//! The only code that changes the machine permanently: journal, apply, read back, undo, guard.
//!
//! The order is always the same: a record of the former state goes into the journal, then the write, then the read-back, then a
//! record of the outcome. If the process dies between any two of these, `undo` can finish from the journal.

mod actions;
mod bans;
pub mod boot_attempt;
pub mod boot_line;
mod bus;
mod busy;
mod captured;
mod census;
mod crowds;
mod enact;
mod ended_moves;
mod entry;
mod error;
mod fingerprint;
mod framing;
pub mod guard;
mod home;
mod inhabitants;
pub mod installed;
mod journal;
pub mod kprobes;
pub mod latency;
mod layers;
mod ledger;
mod live;
mod masks;
mod mend;
mod notes;
mod parcel;
mod record;
mod relocate;
pub mod resize;
mod resize_record;
pub mod restarts;
mod stage;
mod standing;
mod system;
pub mod threads;
pub mod tracing;
mod undo;

pub use bus::{BusError, wire as bus_wire};
pub use captured::Captured;
pub use enact::{Applied, Request, apply, apply_resized};
pub use entry::Entry;
pub use error::ApplyError;
pub use fingerprint::{Fingerprint, Place};
pub use inhabitants::{Dwelling, Inhabitants};
pub use journal::{History, Journal, JournalState, Lasting, Storage, history};
pub use layers::{Layer, LayerState, isolated, layers};
pub use live::Host;
pub use mend::{Mended, RepairRequest, mend};
pub use parcel::{Arrival, Ground, Parcel, Passenger, Stay, Unit};
pub use record::{
    After, Before, Departure, Drifted, Event, FormerPolicy, Outcome, Record, TaskState, Waiting,
};
pub use relocate::{Homes, enter, relocate};
pub use standing::{Standing, standing};
pub use system::{Busy, System};
pub use undo::{Force, Placer, UndoRequest, Undone, Which, undo};
