//! The kernel queues work on each CPU, because a program requested something for which each CPU has its own data.

use super::instance::TracefsInstance;
use super::traced::TracedEvent;
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

/// Memory counters.
pub(super) const STAT_REFRESH: Disturbance = Disturbance {
    name: "stat-refresh",
    about: "/proc/sys/vm/stat_refresh is read: each CPU adds up its counters in a kworker",
    possible: |_| refresh(),
    expected: expected(&["vmstat", "vm_stats"]),
    inject: |place, count| place.perform_repeatedly(count, refresh),
    ..WORK
};

/// Pages in the per-CPU batches that the kernel adds to its LRU lists.
pub(super) const DRAIN: Disturbance = Disturbance {
    name: "lru-drain",
    about: "move_pages: each CPU hands its pages over in a kworker (lru_add_drain)",
    possible: |_| TracefsInstance::reachable().and_then(|()| MappedPage::new()?.moved()),
    expected: expected(&[DRAINS]),
    inject: drained,
    ..WORK
};

/// Trace buffers.
pub(super) const RING: Disturbance = Disturbance {
    name: "trace-buffers",
    about: "the buffers of an instance of tracefs are made larger and smaller: each CPU does so in a kworker",
    possible: |_| TracefsInstance::reachable(),
    expected: expected(&["update_pages_handler"]),
    inject: |place, count| {
        let instance = TracefsInstance::make()?;
        instance.write("buffer_size_kb", "64")?;
        let mut sizes = ["128", "64"].iter().cycle();
        place.perform_repeatedly(count, || {
            instance.write("buffer_size_kb", sizes.next().copied().unwrap_or("64"))
        })
    },
    ..WORK
};

const WORK: Disturbance = Disturbance {
    name: "",
    about: "",
    probe: ProbePolicy::Other,
    possible: super::always,
    expected: expected(&[]),
    inject: |_, _| Ok(Vec::new()),
};

/// The expected report. The request waits until every CPU has done its part: the system call returns after the work.
const fn expected(name: &'static [&'static str]) -> ExpectedBlame {
    ExpectedBlame {
        classes: &["work"],
        name,
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["workqueue/workqueue_queue_work"],
    }
}

/// The kernel function that does the work.
const DRAINS: &str = "lru_add_drain";
/// Maximum failed acts per successful one.
const IN_VAIN: usize = 10;

/// Drains the batches of the measured CPU. Only a CPU with batched pages has work to do, so the injector goes there and
/// touches a page. Another thread that uses memory there can drain the batch first, and the kernel then skips that CPU.
/// A private trace shows what ran.
fn drained(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let ran = TracedEvent::work(place.measured)?;
    let mut done = Vec::with_capacity(count);
    for _ in 0..count * IN_VAIN {
        if done.len() == count {
            break;
        }
        place.pause();
        crate::population::pin(&[place.measured])?;
        let page = MappedPage::new();
        crate::population::pin(&[place.other])?;
        let page = page?;
        clock::sleep_until(clock::now_ns() + BETWEEN_NS);
        ran.forget()?;
        let act = place.perform(|| page.moved())?;
        if !ran.times(DRAINS)?.is_empty() {
            done.push(act);
        }
    }
    Ok(done)
}

/// Time from touching a page to the request, so that the migration to the CPU and the work are two separate
/// disturbances.
const BETWEEN_NS: u64 = 300_000;

const REFRESH: &str = "/proc/sys/vm/stat_refresh";

fn refresh() -> Result<(), String> {
    // The file is empty: reading it triggers the work.
    std::fs::read(REFRESH)
        .map(drop)
        .map_err(|error| format!("{REFRESH}: {error}"))
}

const PAGE: usize = 4_096;

/// One mapped page.
struct MappedPage(*mut libc::c_void);

impl MappedPage {
    fn new() -> Result<MappedPage, String> {
        // SAFETY: a new mapping of one page.
        let page = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), PAGE, access, kind, -1, 0)
        };
        if page == libc::MAP_FAILED {
            return Err(format!("mmap: {}", Error::last_os_error()));
        }
        // SAFETY: it may be written.
        unsafe { page.cast::<u8>().write_volatile(1) };
        Ok(MappedPage(page))
    }

    /// Moves the page to the node where it is, or to the first one: only the drain before the move matters.
    fn moved(&self) -> Result<(), String> {
        let (node, mut status) = (0_i32, 0_i32);
        const MPOL_MF_MOVE: i32 = 2;
        // SAFETY: arrays of one element each, which outlive the call.
        let moved = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                1,
                &raw const self.0,
                &raw const node,
                &raw mut status,
                MPOL_MF_MOVE,
            )
        };
        match moved {
            -1 => Err(format!("move_pages: {}", Error::last_os_error())),
            _ => Ok(()),
        }
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        // SAFETY: this value owns the page, which is no longer used.
        unsafe { libc::munmap(self.0, PAGE) };
    }
}
