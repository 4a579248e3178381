//! What every command needs of a machine, opened once: its files, the state directories, the lock, the journal, the machine.
//!
//! A command gets one [`Session`] and passes it on. Nothing below opens the machine or its state again, so two sessions on
//! two roots can work in one process.

mod change_lock;
mod journal;
mod opened;
mod signals;

pub use change_lock::ChangeLock;
pub use opened::{Session, Warnings};
pub use signals::stop_flag;
