//! A register of another CPU is read through its device file: the kernel calls a function there.

use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, Place, Probe};
use lab::truth::{Expected, Injected, Who};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "cpuid",
    about: "the device file of the CPU's identity is read elsewhere: a function-call interrupt",
    probe: Probe::Other,
    possible: |place| open(place).map(drop),
    expected: Expected {
        classes: &["function_call"],
        name: &[],
        culprit: Who::Injector,
        callsite: &["exec_single", "smp_call_function"],
        told_by: &["ipi/ipi_send_cpu"],
    },
    inject,
};

fn open(place: &Place) -> Result<File, String> {
    let path = format!("/dev/cpu/{}/cpuid", place.measured);
    File::open(&path).map_err(|error| format!("{path}: {error}"))
}

fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let file = open(place)?;
    let measured = place.measured;
    each_counted((INTERRUPTS, "CAL"), measured, || {
        place.acts(count, || {
            file.read_exact_at(&mut [0; 16], 0)
                .map_err(|error| format!("cpuid: {error}"))
        })
    })
}
