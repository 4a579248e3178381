//! A sibling thread changes the segments of its process (`modify_ldt`, as emulators do): the kernel reloads them on
//! each CPU that runs the process.

use super::beside::perform_beside;
use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
#[cfg(target_arch = "x86_64")]
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "ldt",
    about: "a sibling of a thread that computes there calls modify_ldt: a function-call interrupt",
    probe: ProbePolicy::Other,
    possible,
    expected: ExpectedBlame {
        classes: &["function_call"],
        name: &[],
        culprit: ExpectedCulprit::Injector,
        callsite: &["ldt", "on_each_cpu"],
        reporting_events: &["ipi/ipi_send_cpumask"],
    },
    inject,
};

/// `struct user_desc`: entry, base, limit, and the bits of an empty entry: read only, not present.
#[cfg(target_arch = "x86_64")]
const EMPTY: [u32; 4] = [0, 0, 0, 0b10_1000];

#[cfg(target_arch = "x86_64")]
fn modify() -> Result<(), String> {
    // SAFETY: function 17 reads the 16 bytes. An empty entry affects nothing.
    let status = unsafe { libc::syscall(libc::SYS_modify_ldt, 17, EMPTY.as_ptr(), size_of_val(&EMPTY)) };
    // The call returns an int, which the register holds without sign extension.
    match status as i32 {
        0 => Ok(()),
        -1 => Err(format!("modify_ldt: {}", Error::last_os_error())),
        error => Err(format!("modify_ldt: {}", Error::from_raw_os_error(-error))),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn modify() -> Result<(), String> {
    Err("only x86 has segments".to_owned())
}

fn possible(_: &InjectionSite) -> Result<(), String> {
    modify()
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let measured = place.measured;
    each_counted((INTERRUPTS, "CAL"), measured, || {
        perform_beside(place, count, |place, _| place.perform(modify))
    })
}
