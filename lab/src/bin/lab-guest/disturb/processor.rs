//! Another CPU reads a register of the measured one through its device file: the kernel calls a function there.

use super::counted::{INTERRUPTS, each_counted};
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "cpuid",
    about: "the device file of the CPU's identity is read elsewhere: a function-call interrupt",
    probe: ProbePolicy::Other,
    possible: |place| open(place).map(drop),
    expected: ExpectedBlame {
        classes: &["function_call"],
        name: &[],
        culprit: ExpectedCulprit::Injector,
        callsite: &["exec_single", "smp_call_function"],
        reporting_events: &["ipi/ipi_send_cpu"],
    },
    inject,
};

fn open(place: &InjectionSite) -> Result<File, String> {
    let path = format!("/dev/cpu/{}/cpuid", place.measured);
    File::open(&path).map_err(|error| format!("{path}: {error}"))
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let file = open(place)?;
    let measured = place.measured;
    each_counted((INTERRUPTS, "CAL"), measured, || {
        place.perform_repeatedly(count, || {
            file.read_exact_at(&mut [0; 16], 0)
                .map_err(|error| format!("cpuid: {error}"))
        })
    })
}
