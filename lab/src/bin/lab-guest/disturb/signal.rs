//! Sends a signal to a thread that computes on the measured CPU: the kernel interrupts the CPU, so that the thread
//! handles the signal immediately.

use super::beside::perform_beside;
use super::counted::{INTERRUPTS, each_counted, wait_until};
use super::{Disturbance, InjectionSite, ProbePolicy, always};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "signal",
    about: "a thread that computes there is sent a signal: a rescheduling interrupt",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        classes: &["reschedule"],
        name: &[],
        culprit: ExpectedCulprit::Injector,
        callsite: &["kick_process", "signal", "send_reschedule"],
        reporting_events: &["ipi/ipi_send_cpu"],
    },
    inject,
};

/// How often the handler ran.
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let before = set_handler(None)?;
    let measured = place.measured;
    let done = each_counted((INTERRUPTS, "RES"), measured, || {
        perform_beside(place, count, |place, thread| place.perform(|| send(thread)))
    });
    set_handler(Some(before))?;
    done
}

/// Sends the signal, and waits until the thread has handled it.
fn send(thread: i32) -> Result<(), String> {
    let handled = HANDLED.load(Ordering::Relaxed);
    // SAFETY: a system call of three numbers; the handler is set.
    if unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGUSR2) } != 0 {
        return Err(format!("tgkill: {}", Error::last_os_error()));
    }
    wait_until("the signal's handler", || Ok(HANDLED.load(Ordering::Relaxed) > handled))
}

/// Installs the given handler, or our own, and returns the one it replaced.
fn set_handler(given: Option<libc::sigaction>) -> Result<libc::sigaction, String> {
    // SAFETY: plain data; the handler only adds to a number.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        let action = given.unwrap_or(action);
        let mut before: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(libc::SIGUSR2, &raw const action, &raw mut before) {
            0 => Ok(before),
            _ => Err(format!("sigaction: {}", Error::last_os_error())),
        }
    }
}
