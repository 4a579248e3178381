//! Requests a backtrace of all CPUs, by a non-maskable interrupt.

use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "nmi",
    about: "the kernel is asked for the backtraces of all CPUs (sysrq l): NMI",
    probe: ProbePolicy::Other,
    possible,
    expected: ExpectedBlame {
        classes: &["nmi"],
        name: &["nmi"],
        // No event shows the sender.
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

const TRIGGER: &str = "/proc/sysrq-trigger";
/// Maximum number of acts: each prints many lines to the kernel log and a slow console.
const MOST: usize = 4;

fn possible(place: &InjectionSite) -> Result<(), String> {
    if !place.alone {
        return Err("it writes the state of the machine into its log".to_owned());
    }
    match std::fs::exists(TRIGGER) {
        Ok(true) => Ok(()),
        _ => Err(format!("this kernel has no {TRIGGER}")),
    }
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let measured = place.measured;
    each_counted((INTERRUPTS, "NMI"), measured, || {
        place.perform_repeatedly(count.min(MOST), || {
            std::fs::write(TRIGGER, "l").map_err(|error| format!("{TRIGGER}: {error}"))
        })
    })
}
