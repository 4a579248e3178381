//! Memory barriers: the kernel interrupts each CPU that runs a program for which the barrier was requested.

use super::beside::perform_beside;
use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

/// Barrier on threads of this process.
pub(super) const PRIVATE: Disturbance = disturbance(
    "membarrier",
    "a sibling of a thread that computes there calls membarrier (private, expedited)",
    |_| able(1 << 3),
    |place, count| barriers(place, count, 1 << 4, 1 << 3),
);

/// Barrier on all processes that have registered.
pub(super) const GLOBAL: Disturbance = disturbance(
    "membarrier-all",
    "membarrier (global, expedited) while a registered process computes there",
    |_| able(1 << 1),
    |place, count| barriers(place, count, 1 << 2, 1 << 1),
);

/// Barrier on threads of this process that also synchronises modified code.
pub(super) const SYNC_CORE: Disturbance = disturbance(
    "membarrier-core",
    "a sibling of a thread that computes there calls membarrier (private, expedited, sync-core)",
    |_| able(1 << 5),
    |place, count| barriers(place, count, 1 << 6, 1 << 5),
);

const fn disturbance(
    name: &'static str,
    about: &'static str,
    possible: fn(&InjectionSite) -> Result<(), String>,
    inject: fn(&mut InjectionSite, usize) -> Result<Vec<Injection>, String>,
) -> Disturbance {
    Disturbance {
        name,
        about,
        probe: ProbePolicy::Other,
        possible,
        expected: ExpectedBlame {
            classes: &["function_call"],
            name: &[],
            culprit: ExpectedCulprit::Injector,
            callsite: &["membarrier", "smp_call_function", "on_each_cpu"],
            reporting_events: &["ipi/ipi_send_cpumask"],
        },
        inject,
    }
}

/// The commands of the system call are bits (`include/uapi/linux/membarrier.h`); 0 queries the supported ones.
pub fn membarrier(command: libc::c_int) -> Result<libc::c_long, String> {
    // SAFETY: a system call of three numbers.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        -1 => Err(format!("membarrier {command}: {}", Error::last_os_error())),
        done => Ok(done),
    }
}

fn able(command: libc::c_int) -> Result<(), String> {
    match membarrier(0)? & libc::c_long::from(command) {
        0 => Err("this kernel does not have that membarrier".to_owned()),
        _ => Ok(()),
    }
}

fn barriers(
    place: &mut InjectionSite,
    count: usize,
    register: libc::c_int,
    command: libc::c_int,
) -> Result<Vec<Injection>, String> {
    membarrier(register)?;
    let measured = place.measured;
    each_counted((INTERRUPTS, "CAL"), measured, || {
        perform_beside(place, count, |place, _| place.perform(|| membarrier(command).map(drop)))
    })
}
