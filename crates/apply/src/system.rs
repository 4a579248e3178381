//! Defines every way in which `apply` reads and changes the machine, in one trait.
//!
//! The live machine is [`crate::Host`]. The journal's tests use a directory that follows the kernel's cgroup rules, so
//! that they can stop after every single write without a kernel.

use crate::{BusError, FormerPolicy};
use machine::{CpuId, CpuSet};
use root::{Address, Ownership, Root, RootError, Spinner, Tracefs};
use std::ops::ControlFlow;
use std::time::Duration;

/// Everything that apply and undo may do to a machine.
pub trait System {
    /// The machine's files.
    fn root(&self) -> &Root;
    /// Writes a value to a kernel file, with one `write(2)`.
    ///
    /// # Errors
    /// The kernel's errno.
    fn write(&self, path: &str, value: &str) -> Result<(), RootError>;
    /// Puts threads into a cgroup through its list (`tasks`), with one `write(2)` each. `answer` gets each result in
    /// order, and stops the loop with `Break`.
    ///
    /// # Errors
    /// The error of opening the list.
    fn attach_each(
        &self,
        list: &str,
        tids: &mut dyn Iterator<Item = u32>,
        answer: &mut dyn FnMut(u32, Result<(), RootError>) -> ControlFlow<()>,
    ) -> Result<(), RootError> {
        for tid in tids {
            if answer(tid, self.write(list, &tid.to_string())).is_break() {
                break;
            }
        }
        Ok(())
    }
    /// Makes a cgroup.
    ///
    /// # Errors
    /// The kernel's errno.
    fn make_dir(&self, path: &str) -> Result<(), RootError>;
    /// Removes a cgroup.
    ///
    /// # Errors
    /// The kernel's errno; EBUSY while it holds tasks.
    fn remove_dir(&self, path: &str) -> Result<(), RootError>;
    /// The owner of a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// The kernel's errno.
    fn ownership(&self, path: &str) -> Result<Option<Ownership>, RootError>;
    /// Sets the owner, group and permission bits of a file.
    ///
    /// # Errors
    /// The kernel's errno.
    fn set_ownership(&self, path: &str, ownership: Ownership) -> Result<(), RootError>;
    /// `sched_setaffinity` of a thread.
    ///
    /// # Errors
    /// The kernel's errno; ESRCH for a thread that has ended, EINVAL for one that cannot be moved.
    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> Result<(), RootError>;
    /// Makes a thread `SCHED_OTHER`.
    ///
    /// # Errors
    /// The kernel's errno.
    fn demote(&self, tid: u32) -> Result<(), RootError>;
    /// Gives a thread a policy with its priority and nice value; not for `SCHED_DEADLINE`.
    ///
    /// # Errors
    /// The kernel's errno; ENOSYS on a rehearsal, whose tasks have no policies.
    fn set_policy(&self, tid: u32, _policy: FormerPolicy) -> Result<(), RootError> {
        Err(RootError::Io {
            path: format!("/proc/{tid}"),
            operation: "sched_setscheduler",
            errno: libc::ENOSYS,
        })
    }
    /// Asks systemd to start an empty transient slice with these memory nodes. It exists a moment later.
    ///
    /// # Errors
    /// [`BusError`]; a rehearsal has no systemd.
    fn start_slice(&self, _unit: &str, _nodes: &CpuSet) -> Result<(), BusError> {
        Err(BusError::none())
    }
    /// Asks systemd to stop a unit. It is gone a moment later; an unknown unit is no error.
    ///
    /// # Errors
    /// [`BusError`]; a rehearsal has no systemd.
    fn stop_unit(&self, _unit: &str) -> Result<(), BusError> {
        Err(BusError::none())
    }
    /// Sends a question to a daemon that listens on one of these sockets, and returns its answer.
    ///
    /// # Errors
    /// The errno of connecting, ENOENT if no process listens, ETIMEDOUT if no answer comes.
    fn query_daemon(&self, addresses: &[Address], question: &str) -> Result<String, RootError>;
    /// The kernel's tracing files; `None` where there are none.
    ///
    /// # Errors
    /// As for [`Tracefs::find`].
    fn tracefs(&self) -> Result<Option<Tracefs>, RootError>;
    /// Keeps these CPUs busy until the returned value is dropped, from the cgroup with this list. A rehearsal has none.
    fn keep_busy(&self, _cpus: &CpuSet, _list: &str) -> BusyLoops {
        BusyLoops::default()
    }
    /// Waits; the duration is only a hint.
    fn pause(&self, time: Duration);
}

/// Processes that compute until this is dropped, one on each CPU.
#[derive(Debug, Default)]
pub struct BusyLoops {
    pub(crate) spinners: Vec<(CpuId, Spinner)>,
}
