//! A watched program enters the kernel itself. No other thread causes this time, and it does not count as stolen.

use super::{Disturbance, InjectionSite, ProbePolicy, always, place_thread};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

/// First access to a page.
pub(super) const FAULT: Disturbance = Disturbance {
    name: "page-fault",
    about: "a thread of a program that is watched (--pid) uses a page for the first time",
    probe: ProbePolicy::Program,
    possible: always,
    expected: ExpectedBlame {
        classes: &["page_fault"],
        name: &["page fault"],
        culprit: ExpectedCulprit::Itself,
        callsite: &[],
        reporting_events: &[],
    },
    inject: |place, count| own_entry(place, count, FAULT.name, fault),
};

/// A system call that nothing else in this program makes.
pub(super) const CALL: Disturbance = Disturbance {
    name: "system-call",
    about: "a thread of a program that is watched (--pid) asks who its parent is: a system call",
    expected: ExpectedBlame {
        classes: &["system_call"],
        name: &[GETPPID],
        ..FAULT.expected
    },
    inject: |place, count| {
        own_entry(place, count, CALL.name, || {
            // SAFETY: a plain call without arguments.
            unsafe { libc::syscall(libc::SYS_getppid) };
            Ok(())
        })
    },
    ..FAULT
};

/// The name in the kernel's event on this architecture.
#[cfg(target_arch = "x86_64")]
const GETPPID: &str = "system call getppid (110)";
#[cfg(not(target_arch = "x86_64"))]
const GETPPID: &str = "system call getppid (173)";

const PAGE: usize = 4_096;

fn own_entry(
    place: &mut InjectionSite,
    count: usize,
    name: &str,
    act: fn() -> Result<(), String>,
) -> Result<Vec<Injection>, String> {
    place_thread(name, place.measured, "other:0")?;
    place.perform_repeatedly(count, act)
}

/// Touches one page, and checks that the thread's own counter shows one fault.
fn fault() -> Result<(), String> {
    let before = faults();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of one page, which is unmapped immediately.
    unsafe {
        let page = libc::mmap(std::ptr::null_mut(), PAGE, access, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return Err(format!("mmap: {}", Error::last_os_error()));
        }
        page.cast::<u8>().write_volatile(1);
        libc::munmap(page, PAGE);
    }
    match faults() > before {
        true => Ok(()),
        false => Err("a page was used for the first time, and no fault was counted".to_owned()),
    }
}

/// Page faults of the calling thread so far.
fn faults() -> libc::c_long {
    // SAFETY: a structure of plain numbers, which the kernel fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_minflt + usage.ru_majflt
    }
}
