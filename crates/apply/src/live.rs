//! The live machine: cgroup and kernel files through [`root::Live`], affinities and policies by system call.

use crate::System;
use machine::CpuSet;
use root::{Live, Root, RootError};
use std::time::Duration;

/// The machine that we run on.
pub struct Host {
    live: Live,
    root: Root,
}

impl Host {
    /// The running machine; a captured one cannot be given.
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
        self.live.write(path, value.as_bytes())
    }

    fn make_dir(&self, path: &str) -> Result<(), RootError> {
        self.live.make_dir(path)
    }

    fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        self.live.remove_dir(path)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> Result<(), RootError> {
        const BITS: u32 = libc::c_ulong::BITS;
        let top = cpus.last().map_or(0, |cpu| cpu.0);
        let mut words = vec![0 as libc::c_ulong; (top / BITS + 1) as usize];
        for cpu in cpus.iter() {
            if let Some(word) = words.get_mut((cpu.0 / BITS) as usize) {
                *word |= 1 << (cpu.0 % BITS);
            }
        }
        // SAFETY: the kernel reads `size_of_val(words)` bytes from a buffer that lives across the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_sched_setaffinity,
                tid,
                std::mem::size_of_val(words.as_slice()),
                words.as_ptr(),
            )
        };
        outcome(result, tid, "sched_setaffinity")
    }

    fn demote(&self, tid: u32) -> Result<(), RootError> {
        let parameter = libc::c_int::from(false);
        // SAFETY: `struct sched_param` is one int (include/uapi/linux/sched/types.h), which lives across the call.
        // The raw call is needed because musl's wrapper is a stub that always fails.
        let result = unsafe {
            libc::syscall(
                libc::SYS_sched_setscheduler,
                tid,
                libc::SCHED_OTHER,
                std::ptr::from_ref(&parameter),
            )
        };
        outcome(result, tid, "sched_setscheduler")
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

fn outcome(result: libc::c_long, tid: u32, doing: &'static str) -> Result<(), RootError> {
    if result == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(RootError::from_io(&format!("/proc/{tid}"), doing, &error))
}
