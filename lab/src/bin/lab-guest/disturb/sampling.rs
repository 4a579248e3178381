//! A perf event samples the measured CPU: its timer expires there, and the reader of the samples is woken from there.

use super::counted::wait_until;
use super::{Disturbance, InjectionSite, ProbePolicy, me};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The timer of the event.
pub(super) const SAMPLE: Disturbance = Disturbance {
    name: "perf-sample",
    about: "a perf event samples what runs there: its timer expires",
    probe: ProbePolicy::Other,
    possible: |place| PerfSampler::open(place.measured, WakeMode::Never).map(drop),
    expected: ExpectedBlame {
        classes: &["tick"],
        name: &["perf_swevent_hrtimer"],
        // An interrupt sets the timer on behalf of the thread that opened the event.
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject: |place, count| samples(place, count, WakeMode::Never),
};

/// Wake-up of the reader.
pub(super) const WAKE_UP: Disturbance = Disturbance {
    name: "irq-work",
    about: "a perf event that samples there wakes its reader at each sample: deferred work in interrupt context",
    probe: ProbePolicy::Other,
    possible: |place| PerfSampler::open(place.measured, WakeMode::EachSample).map(drop),
    expected: ExpectedBlame {
        // With PREEMPT_RT a thread does this.
        classes: &["irq_work", "kernel_thread"],
        name: &["irq_work"],
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject: |place, count| samples(place, count, WakeMode::EachSample),
};

/// Time between two samples; the event is disabled after the first.
const PERIOD_NS: u64 = 3_000_000;
const PAGE: usize = 4_096;
/// Offset of `data_head` in the first page of the buffer (`struct perf_event_mmap_page`).
const DATA_HEAD: usize = 1_024;
/// `PERF_EVENT_IOC_ENABLE` and `_DISABLE` (`include/uapi/linux/perf_event.h`).
const ENABLE: u32 = 0x2400;
const DISABLE: u32 = 0x2401;

/// When the reader is woken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WakeMode {
    Never,
    EachSample,
}

/// The event and its buffer.
struct PerfSampler {
    event: OwnedFd,
    buffer: *mut libc::c_void,
}

impl PerfSampler {
    /// Creates the event, disabled.
    fn open(cpu: u32, waking: WakeMode) -> Result<PerfSampler, String> {
        // The first 64 bytes of perf_event_attr, as in `lab::perf`. Set here: the period, the content of a sample (1:
        // the address), the flags (1: initially disabled), and the number of samples after which a reader is woken.
        let mut attributes = [0_u32; 16];
        attributes[0] = 1;
        attributes[1] = 64;
        attributes[4] = PERIOD_NS as u32;
        attributes[6] = 1;
        attributes[10] = 1;
        attributes[12] = u32::from(waking == WakeMode::EachSample);
        let failed = |what: &str| format!("{what} on CPU {cpu}: {}", Error::last_os_error());
        // SAFETY: the kernel reads 64 bytes, as the structure says. The descriptor is owned, and the mapping lives as
        // long.
        unsafe {
            let flags = libc::c_ulong::from(8_u8);
            let fd = libc::syscall(
                libc::SYS_perf_event_open,
                attributes.as_ptr(),
                -1_i32,
                cpu,
                -1_i32,
                flags,
            );
            if fd < 0 {
                return Err(failed("no perf event"));
            }
            let event = OwnedFd::from_raw_fd(fd as i32);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let raw = event.as_raw_fd();
            let buffer = libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, libc::MAP_SHARED, raw, 0);
            if buffer == libc::MAP_FAILED {
                return Err(failed("no buffer for a perf event"));
            }
            Ok(PerfSampler { event, buffer })
        }
    }

    fn send(&self, request: u32) -> Result<(), String> {
        // SAFETY: a request without an argument.
        match unsafe { libc::ioctl(self.event.as_raw_fd(), request as _, 0) } {
            0 => Ok(()),
            _ => Err(format!("perf event: {}", Error::last_os_error())),
        }
    }

    /// Number of bytes that the kernel has written.
    fn head(&self) -> u64 {
        // SAFETY: the page is mapped while this value lives, and the kernel writes an aligned number there.
        let head = unsafe { &*self.buffer.cast::<u8>().add(DATA_HEAD).cast::<AtomicU64>() };
        head.load(Ordering::Acquire)
    }

    /// Whether a reader has been woken since the last call.
    fn woken(&self) -> bool {
        let mut one = libc::pollfd {
            fd: self.event.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one structure, which outlives the call. The call does not wait.
        unsafe { libc::poll(&raw mut one, 1, 0) > 0 && one.revents & libc::POLLIN != 0 }
    }
}

impl Drop for PerfSampler {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, which is no longer used.
        unsafe { libc::munmap(self.buffer, 2 * PAGE) };
    }
}

/// Injects samples. An event cannot expire earlier than one period after it was enabled. The rest of the period at
/// disabling is carried over to the next time, so each act uses its own event.
fn samples(place: &mut InjectionSite, count: usize, waking: WakeMode) -> Result<Vec<Injection>, String> {
    let mut done = Vec::with_capacity(count);
    for _ in 0..count {
        let sampler = PerfSampler::open(place.measured, waking)?;
        place.pause();
        let begin_raw_ns = clock::raw_ns() + PERIOD_NS;
        sampler.send(ENABLE)?;
        wait_until("a sample", || match waking {
            WakeMode::Never => Ok(sampler.head() > 0),
            WakeMode::EachSample => Ok(sampler.woken()),
        })?;
        let end_raw_ns = clock::raw_ns();
        sampler.send(DISABLE)?;
        done.push(Injection {
            begin_raw_ns,
            end_raw_ns,
            culprit: me(),
        });
    }
    Ok(done)
}
