//! The kernel folds per-CPU memory counters into the machine's counters every `vm.stat_interval`: a thread that uses memory
//! there gives the CPU's kworker something to add.

use super::instance::Instance;
use super::traced::Traced;
use super::{Disturbance, Place, Probe, me};
use lab::clock;
use lab::truth::{Expected, Injected, Who};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "vmstat",
    about: "a thread uses memory there, whose counters are added up every second: vmstat_update",
    probe: Probe::Other,
    possible: |_| Instance::reachable(),
    expected: Expected {
        classes: &["work"],
        name: &["vmstat_update"],
        // A timer queues it, through the timer softirq, or at first the kernel's shepherd, in a worker of another CPU.
        culprit: Who::Via(&["TIMER", "kworker/"]),
        callsite: &[],
        told_by: &[],
    },
    inject,
};

/// Maximum number of acts: each takes a second.
const MOST: usize = 4;
/// Maximum polls for one: more than two intervals.
const LOOKS: usize = 30;
/// Time between two polls.
const LOOK_NS: u64 = 100_000_000;
const PAGE: usize = 4_096;
const PAGES: usize = 64;
/// Minimum duration of the work.
const MICROSECOND_NS: u64 = 1_000;

/// A trace in our own instance shows when it ran, because no counter does.
fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let ran = Traced::work(place.measured)?;
    let mut done = Vec::new();
    for _ in 0..LOOKS * count.min(MOST) {
        crate::population::pin(&[place.measured])?;
        let used = use_memory();
        crate::population::pin(&[place.other])?;
        used?;
        clock::sleep_until(clock::now_ns() + LOOK_NS);
        done = ran
            .times("function vmstat_update")?
            .into_iter()
            .map(|begin_raw_ns| Injected {
                begin_raw_ns,
                end_raw_ns: begin_raw_ns + 2 * MICROSECOND_NS,
                culprit: me(),
            })
            .collect();
        if done.len() >= count.min(MOST) {
            return Ok(done);
        }
    }
    match done.len() {
        0 => Err("the kernel has not added up the counters of that CPU".to_owned()),
        _ => Ok(done),
    }
}

/// Allocates pages and frees them.
fn use_memory() -> Result<(), String> {
    let size = PAGES * PAGE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping, which is gone at once.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0);
        if pages == libc::MAP_FAILED || libc::munmap(pages, size) != 0 {
            return Err(format!("memory: {}", Error::last_os_error()));
        }
    }
    Ok(())
}
