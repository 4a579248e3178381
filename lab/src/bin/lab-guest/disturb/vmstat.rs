//! The kernel folds per-CPU memory counters into the machine's counters every `vm.stat_interval`. A thread that uses
//! memory on the measured CPU gives the CPU's kworker something to add.

use super::instance::TracefsInstance;
use super::traced::TracedEvent;
use super::{Disturbance, InjectionSite, ProbePolicy, me};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "vmstat",
    about: "a thread uses memory there, whose counters are added up every second: vmstat_update",
    probe: ProbePolicy::Other,
    possible: |_| TracefsInstance::reachable(),
    expected: ExpectedBlame {
        classes: &["work"],
        name: &["vmstat_update"],
        // The timer softirq queues the work. The first time, the kernel's shepherd queues it in a worker of another
        // CPU.
        culprit: ExpectedCulprit::Via(&["TIMER", "kworker/"]),
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

/// Maximum number of acts: each takes a second.
const MOST: usize = 4;
/// Maximum number of polls for one act, more than two intervals.
const MAX_POLLS: usize = 30;
/// Time between two polls.
const POLL_INTERVAL_NS: u64 = 100_000_000;
const PAGE: usize = 4_096;
const PAGES: usize = 64;
/// Minimum duration of the work.
const MICROSECOND_NS: u64 = 1_000;

/// A private trace shows when the work ran, because no counter does.
fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let ran = TracedEvent::work(place.measured)?;
    let mut done = Vec::new();
    for _ in 0..MAX_POLLS * count.min(MOST) {
        crate::population::pin(&[place.measured])?;
        let used = use_memory();
        crate::population::pin(&[place.other])?;
        used?;
        clock::sleep_until(clock::now_ns() + POLL_INTERVAL_NS);
        done = ran
            .times("function vmstat_update")?
            .into_iter()
            .map(|begin_raw_ns| Injection {
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
    // SAFETY: a new mapping, which is unmapped immediately.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0);
        if pages == libc::MAP_FAILED || libc::munmap(pages, size) != 0 {
            return Err(format!("memory: {}", Error::last_os_error()));
        }
    }
    Ok(())
}
