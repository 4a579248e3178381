//! Another CPU reads a perf event that counts on this one: the kernel calls a function here to read it.

use super::{Disturbance, Place, Probe};
use lab::perf;
use lab::truth::{Expected, Injected, Who};
use std::io::Read;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "perf-read",
    about: "a perf event that counts on the measured CPU is read elsewhere: a function-call interrupt",
    probe: Probe::Other,
    possible,
    expected: Expected {
        classes: &["function_call"],
        name: &[],
        culprit: Who::Injector,
        callsite: &["exec_single", "smp_call_function"],
        told_by: &["ipi/ipi_send_cpu"],
    },
    inject,
};

fn possible(place: &Place) -> Result<(), String> {
    perf::counter_on(place.measured).map(drop)
}

fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let mut counter = perf::counter_on(place.measured)?;
    let before = perf::function_calls(place.measured)?;
    let mut value = [0_u8; 8];
    let done = place.acts(count, || {
        counter.read_exact(&mut value).map_err(|error| error.to_string())
    })?;
    let counted = perf::function_calls(place.measured)?.saturating_sub(before);
    if counted < count as u64 {
        return Err(format!("{count} reads made {counted} function-call interrupts"));
    }
    Ok(done)
}
