//! Opens what every command needs of a machine, once: its files, the state directories, the lock, the journal, the machine.
//!
//! A command gets one [`Session`] and passes it on. No command opens the running machine or a state directory itself, so two
//! sessions on two roots can work in one process.

pub mod accounts;
pub mod boot_files;
pub mod boot_service;
mod change_lock;
pub mod comm_pattern;
pub mod cpuset_entry;
pub mod declaration_draft;
pub mod declared;
mod in_place;
pub mod isolation;
mod journal;
mod last_check;
pub mod leasing;
pub mod own_process;
pub mod partition;
pub mod policy;
pub mod program_run;
mod recording_file;
pub mod resize;
mod rt_group;
mod session;
mod signals;
pub mod task_move;

pub use change_lock::{ChangeLock, EndedLease};
pub use last_check::LastCheck;
pub use recording_file::read_recording;
pub use session::{Reporter, Session, SystemFactory, seconds_now};
pub use signals::stop_flag;
