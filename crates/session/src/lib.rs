//! What every command needs of a machine, opened once: its files, the state directories, the lock, the journal, the machine.
//!
//! A command gets one [`Session`] and passes it on. No command opens the running machine or a state directory by itself, so two
//! sessions on two roots can work in one process.

mod change_lock;
mod journal;
mod session;
mod signals;

pub use change_lock::ChangeLock;
pub use session::{Reporter, Session};
pub use signals::stop_flag;
