//! Another CPU reads a perf event that counts on the measured one: the kernel calls a function there to read it.

use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::perf;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Read;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "perf-read",
    about: "a perf event that counts on the measured CPU is read elsewhere: a function-call interrupt",
    probe: ProbePolicy::Other,
    possible,
    expected: ExpectedBlame {
        classes: &["function_call"],
        name: &[],
        culprit: ExpectedCulprit::Injector,
        callsite: &["exec_single", "smp_call_function"],
        reporting_events: &["ipi/ipi_send_cpu"],
    },
    inject,
};

fn possible(place: &InjectionSite) -> Result<(), String> {
    perf::counter_on(place.measured).map(drop)
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let mut counter = perf::counter_on(place.measured)?;
    let before = perf::function_calls(place.measured)?;
    let mut value = [0_u8; 8];
    let done = place.perform_repeatedly(count, || {
        counter.read_exact(&mut value).map_err(|error| error.to_string())
    })?;
    let counted = perf::function_calls(place.measured)?.saturating_sub(before);
    if counted < count as u64 {
        return Err(format!("{count} reads made {counted} function-call interrupts"));
    }
    Ok(done)
}
