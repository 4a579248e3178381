//! Requests a backtrace of all CPUs, by a non-maskable interrupt.

use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, Place, Probe};
use lab::truth::{Expected, Injected, Who};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "nmi",
    about: "the kernel is asked for the backtraces of all CPUs (sysrq l): NMI",
    probe: Probe::Other,
    possible,
    expected: Expected {
        classes: &["nmi"],
        name: &["nmi"],
        // No event shows the sender.
        culprit: Who::Nobody,
        callsite: &[],
        told_by: &[],
    },
    inject,
};

const TRIGGER: &str = "/proc/sysrq-trigger";
/// Maximum number of acts: each fills the kernel's log, and a slow console.
const MOST: usize = 4;

fn possible(place: &Place) -> Result<(), String> {
    if !place.alone {
        return Err("it writes the state of the machine into its log".to_owned());
    }
    match std::fs::exists(TRIGGER) {
        Ok(true) => Ok(()),
        _ => Err(format!("this kernel has no {TRIGGER}")),
    }
}

fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let measured = place.measured;
    each_counted((INTERRUPTS, "NMI"), measured, || {
        place.acts(count.min(MOST), || {
            std::fs::write(TRIGGER, "l").map_err(|error| format!("{TRIGGER}: {error}"))
        })
    })
}
