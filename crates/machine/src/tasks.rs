//! Reads tasks (threads): where they may run, and whether they can be moved. Source: `/proc/PID/task/TID/*`.

mod glance;
mod parse;
mod placement;
mod planning_tasks;
mod read;
mod thread_list;

pub use glance::{MaskReader, children, kernel_threads, unusual};
pub use parse::{parse_cgroup_file, parse_stat, parse_status_allowed};
pub use placement::{CpuTasks, MaskCount};
pub(crate) use placement::{TaskListLocation, count_masks, read_mask_counts, read_tasks_on};
pub(crate) use planning_tasks::read_planning_tasks;
pub use read::{
    SchedStat, cgroup_of, has_ended, read, read_one, read_process, read_sched_stat, read_stat, users_of, with_status,
};
pub(crate) use read::{read_all, read_cgroups};
pub use thread_list::ThreadList;

use crate::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

/// The number of the kernel thread that creates all others.
pub const KTHREADD: u32 = 2;

/// A thread's identity: numbers are recycled, a number together with a start time is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskKey {
    /// Thread number.
    pub tid: u32,
    /// Field 22 of `stat`: clock ticks after boot.
    pub start_time: u64,
}

/// One thread of the machine, of a process or of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Process number.
    pub pid: u32,
    /// Thread number and start time.
    pub key: TaskKey,
    /// Parent process.
    pub ppid: u32,
    /// Name; may hold spaces, parentheses and anything else.
    pub comm: String,
    /// One letter: R, S, D, Z ...
    pub state: char,
    /// `PF_*` flags (field 9 of `stat`).
    pub flags: u32,
    /// CPU that it last ran on.
    pub cpu: Option<CpuId>,
    /// `Cpus_allowed_list`.
    pub allowed: Option<CpuSet>,
    /// Scheduling policy.
    pub policy: Policy,
    /// Real-time priority 1 to 99; 0 for the others.
    pub rt_priority: u32,
    /// Nice value.
    pub nice: i32,
    /// Path in the cpuset hierarchy (v1) or the unified one (v2); `None` until requested, or unknown.
    pub cgroup: Option<String>,
}

impl Task {
    /// `PF_WQ_WORKER`: a kworker.
    pub const PF_WQ_WORKER: u32 = 0x20;
    /// `PF_KTHREAD`: a kernel thread.
    pub const PF_KTHREAD: u32 = 0x0020_0000;
    /// `PF_NO_SETAFFINITY`: `sched_setaffinity` and cgroup moves give EINVAL.
    pub const PF_NO_SETAFFINITY: u32 = 0x0400_0000;

    /// `PF_EXITING`: it is exiting.
    pub const PF_EXITING: u32 = 0x4;

    /// Whether it has ended or is ending: a zombie that was not reaped, or a thread that exits. It runs no code of its
    /// own any more, and the control groups neither move it nor change its mask, so its mask is out of date.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.flags & Task::PF_EXITING != 0 || matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Whether it is a kernel thread.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.flags & Task::PF_KTHREAD != 0
    }

    /// Whether it is the kernel's thread of a threaded interrupt (`irq/47-ahci`), whose mask follows the interrupt's.
    #[must_use]
    pub fn is_irq_thread(&self) -> bool {
        self.is_kernel() && self.comm.starts_with("irq/")
    }

    /// Whether the kernel allows it to be moved.
    #[must_use]
    pub fn is_movable(&self) -> bool {
        self.flags & Task::PF_NO_SETAFFINITY == 0
    }

    /// Whether it is a worker of unbound workqueues (`kworker/u8:0`, `create_worker` in `kernel/workqueue.c`): their
    /// mask places it, not a CPU that it belongs to.
    #[must_use]
    pub fn is_unbound_worker(&self) -> bool {
        self.is_kernel() && self.comm.starts_with("kworker/u")
    }

    /// Whether the kernel binds it to these CPUs, so that it cannot run elsewhere. A thread that is placed by a mask or
    /// an interrupt cannot be moved manually either, but is not bound.
    #[must_use]
    pub fn is_bound_to(&self, cpus: &CpuSet) -> bool {
        let only_there = self.allowed.as_ref().is_some_and(|allowed| allowed.is_subset(cpus));
        only_there && !self.is_movable() && !self.is_unbound_worker() && !self.is_irq_thread()
    }
}

/// Scheduling policy, field 41 of `stat` (`SCHED_*` of `linux/sched.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// `SCHED_OTHER`
    #[default]
    Other,
    /// `SCHED_FIFO`
    Fifo,
    /// `SCHED_RR`
    Rr,
    /// `SCHED_BATCH`
    Batch,
    /// `SCHED_IDLE`
    Idle,
    /// `SCHED_DEADLINE`
    Deadline,
    /// `SCHED_EXT`
    Ext,
    /// An unknown number.
    Unknown,
}

impl Policy {
    /// From the number in `stat` or from `sched_getscheduler(2)`.
    #[must_use]
    pub fn of_number(number: u32) -> Policy {
        match number {
            0 => Policy::Other,
            1 => Policy::Fifo,
            2 => Policy::Rr,
            3 => Policy::Batch,
            5 => Policy::Idle,
            6 => Policy::Deadline,
            7 => Policy::Ext,
            _ => Policy::Unknown,
        }
    }

    /// Whether it is one of the real-time policies for which `chrt` sets a priority.
    #[must_use]
    pub fn is_realtime(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }
}
