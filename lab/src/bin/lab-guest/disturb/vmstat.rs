//! The counters of memory that a CPU keeps for itself, and adds to those of the machine every `vm.stat_interval`: a thread that
//! uses memory there gives its kworker something to add.

use super::instance::Instance;
use super::{Disturbance, Place, Probe, me};
use lab::clock;
use lab::truth::{Expected, Injected, Who};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "vmstat",
    about: "a thread uses memory there, whose counters are added up every second: vmstat_update",
    probe: Probe::Other,
    possible: |_| Instance::reachable(),
    expected: Expected {
        classes: &["work"],
        name: &["vmstat_update"],
        // A timer queues it.
        culprit: Who::Nobody,
        callsite: &[],
        told_by: &[],
    },
    inject,
};

/// So many are enough: each takes a second.
const MOST: usize = 4;
/// Looks until one has come: more than two intervals.
const LOOKS: usize = 30;
/// Between two looks.
const LOOK_NS: u64 = 100_000_000;
const PAGE: usize = 4_096;
const PAGES: usize = 64;
/// What the work takes at least, and the kernel's times are cut to.
const MICROSECOND_NS: u64 = 1_000;

/// When it ran, the trace of an instance of our own tells: nothing counts it.
fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let instance = Instance::make()?;
    instance.write("trace_clock", "mono_raw")?;
    let event = "events/workqueue/workqueue_execute_start";
    instance.write(&format!("{event}/filter"), &format!("CPU == {}", place.measured))?;
    instance.write(&format!("{event}/enable"), "1")?;
    let mut done = Vec::new();
    for _ in 0..LOOKS * count.min(MOST) {
        crate::population::pin(&[place.measured])?;
        let used = use_memory();
        crate::population::pin(&[place.other])?;
        used?;
        clock::sleep_until(clock::now_ns() + LOOK_NS);
        done = times(&instance.read("trace")?, "vmstat_update")
            .map(|begin_raw_ns| Injected {
                begin_raw_ns,
                end_raw_ns: begin_raw_ns + 2 * MICROSECOND_NS,
                culprit: me(),
            })
            .collect();
        if done.len() >= count.min(MOST) {
            return Ok(done);
        }
    }
    match done.len() {
        0 => Err("the kernel has not added up the counters of that CPU".to_owned()),
        _ => Ok(done),
    }
}

/// Times of the lines `kworker/1:0-9 [001] d.... 12.345678: workqueue_execute_start: work struct X: function F`.
fn times<'a>(trace: &'a str, function: &'a str) -> impl Iterator<Item = u64> + 'a {
    let lines = trace
        .lines()
        .filter(move |line| line.split(' ').next_back() == Some(function));
    lines.filter_map(|line| {
        let (before, _) = line.split_once(": workqueue_execute_start:")?;
        let (seconds, microseconds) = before.split_whitespace().next_back()?.split_once('.')?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some(number(seconds)? * 1_000_000_000 + number(microseconds)? * MICROSECOND_NS)
    })
}

/// Has pages and gives them back.
fn use_memory() -> Result<(), String> {
    let size = PAGES * PAGE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping, which is gone at once.
    unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0);
        if pages == libc::MAP_FAILED || libc::munmap(pages, size) != 0 {
            return Err(format!("memory: {}", Error::last_os_error()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_function_is_read_and_others_are_not() {
        let trace = "# tracer: nop\n\
            \x20    kworker/1:0-9  [001] d.... 12.000004: workqueue_execute_start: work struct 00000000a7: function vmstat_update\n\
            \x20    kworker/1:0-9  [001] d.... 13.500000: workqueue_execute_start: work struct 00000000a8: function vmstat_shepherd\n\
            \x20    kworker/1:0-9  [001] d.... 14: workqueue_execute_start: work struct 00000000a8: function vmstat_update\n";
        let times: Vec<u64> = times(trace, "vmstat_update").collect();
        assert_eq!(times, [12_000_004_000]);
    }
}
