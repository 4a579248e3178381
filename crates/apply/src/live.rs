//! Accesses the live machine: cgroup and kernel files through [`root::Live`], affinities and policies by system call.

use crate::bus::{self, BusError};
use crate::{BusyLoops, FormerPolicy, System};
use machine::{CpuSet, Policy};
use root::{Address, Live, Ownership, Root, RootError, Tracefs};
use std::ops::ControlFlow;
use std::time::Duration;

/// A daemon without an answer by then is stuck. The limit is long, because irqbalance dies if it answers a client that has gone.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// The machine that we run on.
pub struct Host {
    live: Live,
    root: Root,
}

impl Host {
    /// Opens the running machine; a captured one is not accepted.
    #[must_use]
    pub fn new(live: Live) -> Host {
        let root = Root::of(&live);
        Host { live, root }
    }
}

impl System for Host {
    fn root(&self) -> &Root {
        &self.root
    }

    fn write(&self, path: &str, value: &str) -> Result<(), RootError> {
        // A write of no bytes does not reach the kernel's handler, so it would leave the file as it is.
        let text = if value.is_empty() { "\n" } else { value };
        self.live.write(path, text.as_bytes())
    }

    fn attach_each(
        &self,
        list: &str,
        tids: &mut dyn Iterator<Item = u32>,
        answer: &mut dyn FnMut(u32, Result<(), RootError>) -> ControlFlow<()>,
    ) -> Result<(), RootError> {
        self.live.write_each(list, tids, answer)
    }

    fn make_dir(&self, path: &str) -> Result<(), RootError> {
        self.live.make_dir(path)
    }

    fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        self.live.remove_dir(path)
    }

    fn ownership(&self, path: &str) -> Result<Option<Ownership>, RootError> {
        self.live.ownership(path)
    }

    fn set_ownership(&self, path: &str, ownership: Ownership) -> Result<(), RootError> {
        self.live.set_ownership(path, ownership)
    }

    fn keep_busy(&self, cpus: &CpuSet, list: &str) -> BusyLoops {
        BusyLoops::on(self, cpus, list)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> Result<(), RootError> {
        root::sched::set_affinity(tid, &cpus.words()).map_err(|errno| refused(tid, "sched_setaffinity", errno))
    }

    fn demote(&self, tid: u32) -> Result<(), RootError> {
        root::sched::set_scheduler(tid, libc::SCHED_OTHER, 0).map_err(|errno| refused(tid, "sched_setscheduler", errno))
    }

    fn set_policy(&self, tid: u32, policy: FormerPolicy) -> Result<(), RootError> {
        let number = match policy.policy {
            Policy::Fifo => libc::SCHED_FIFO,
            Policy::Rr => libc::SCHED_RR,
            Policy::Batch => libc::SCHED_BATCH,
            Policy::Idle => libc::SCHED_IDLE,
            _ => libc::SCHED_OTHER,
        };
        let priority = i32::try_from(policy.priority).unwrap_or(0);
        root::sched::set_scheduler(tid, number, priority).map_err(|errno| refused(tid, "sched_setscheduler", errno))?;
        root::sched::set_nice(tid, policy.nice).map_err(|errno| refused(tid, "setpriority", errno))
    }

    fn start_slice(&self, unit: &str, nodes: &CpuSet) -> Result<(), BusError> {
        bus::start_slice(&self.live.locate(bus::SOCKET), unit, nodes)
    }

    fn stop_unit(&self, unit: &str) -> Result<(), BusError> {
        bus::stop_unit(&self.live.locate(bus::SOCKET), unit)
    }

    fn query_daemon(&self, addresses: &[Address], question: &str) -> Result<String, RootError> {
        self.live.query(addresses, question, ANSWER_WITHIN)
    }

    fn tracefs(&self) -> Result<Option<Tracefs>, RootError> {
        self.live.tracefs()
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

fn refused(tid: u32, doing: &'static str, errno: i32) -> RootError {
    RootError::from_io(
        &format!("/proc/{tid}"),
        doing,
        &std::io::Error::from_raw_os_error(errno),
    )
}
