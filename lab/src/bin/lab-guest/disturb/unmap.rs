//! A sibling thread changes mappings: the CPU that runs the same program must flush its TLB.

use super::beside::perform_beside;
use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy, always};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

/// Unmapping a page.
pub(super) const MUNMAP: Disturbance = disturbance(
    "munmap",
    "a sibling of a thread that computes there unmaps a page: TLB shootdown",
    |place, count| with_page(place, count, |page| unsafe { libc::munmap(page, PAGE) }),
);

/// Removing write permission.
pub(super) const MPROTECT: Disturbance = disturbance(
    "mprotect",
    "a sibling of a thread that computes there makes a page read-only: TLB shootdown",
    |place, count| {
        with_page(place, count, |page| unsafe {
            libc::mprotect(page, PAGE, libc::PROT_READ)
        })
    },
);

/// Discarding the content of a page.
pub(super) const MADVISE: Disturbance = disturbance(
    "madvise",
    "a sibling of a thread that computes there gives a page back (MADV_DONTNEED): TLB shootdown",
    |place, count| {
        with_page(place, count, |page| unsafe {
            libc::madvise(page, PAGE, libc::MADV_DONTNEED)
        })
    },
);

const PAGE: usize = 4_096;

const fn disturbance(
    name: &'static str,
    about: &'static str,
    inject: fn(&mut InjectionSite, usize) -> Result<Vec<Injection>, String>,
) -> Disturbance {
    Disturbance {
        name,
        about,
        probe: ProbePolicy::Other,
        possible: always,
        expected: ExpectedBlame {
            classes: &["tlb_shootdown"],
            name: &[],
            culprit: ExpectedCulprit::Injector,
            callsite: &[],
            reporting_events: &["ipi/ipi_send_cpumask"],
        },
        inject,
    }
}

/// Maps and touches a page, then changes the mapping, which makes the kernel flush it from the TLBs of both CPUs.
fn with_page(
    place: &mut InjectionSite,
    count: usize,
    change: fn(*mut libc::c_void) -> libc::c_int,
) -> Result<Vec<Injection>, String> {
    let failed = |what: &str| format!("{what}: {}", Error::last_os_error());
    let measured = place.measured;
    each_counted((INTERRUPTS, "TLB"), measured, || {
        perform_beside(place, count, |place, _| {
            // SAFETY: a new mapping of one page that only this function uses.
            let page = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    PAGE,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            if page == libc::MAP_FAILED {
                return Err(failed("mmap"));
            }
            // SAFETY: one writable page. Without a present page there is nothing to flush.
            unsafe { page.cast::<u8>().write_volatile(1) };
            let done = place.perform(|| match change(page) {
                0 => Ok(()),
                _ => Err(failed("the page")),
            });
            // SAFETY: if `change` has unmapped the page, this thread has mapped nothing there since. Unmapping nothing
            // is no error.
            unsafe { libc::munmap(page, PAGE) };
            done
        })
    })
}
