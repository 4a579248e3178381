//! What the kernel does against a real-time thread that never sleeps: until 6.12 it stops it for a part of each second, and
//! since then the fair server lets ordinary threads in that want the CPU.

use super::ordinary::ordinary;
use super::traced::Traced;
use super::{Disturbance, Place, Probe, me};
use lab::clock;
use lab::truth::{Expected, Injected, Who};
use std::io::ErrorKind;
use std::path::Path;

/// The thread is stopped, and nobody else wants the CPU.
pub(super) const THROTTLED: Disturbance = Disturbance {
    name: "rt-throttle",
    about: "a FIFO probe has used up sched_rt_runtime_us of a second: it is stopped and the CPU idles",
    probe: Probe::Fifo,
    possible: |_| throttles(),
    expected: Expected {
        classes: &["preemption"],
        name: &["<idle>"],
        culprit: Who::Via(&["real-time throttling"]),
        callsite: &[],
        told_by: &[],
    },
    inject: throttled,
};

/// An ordinary thread waits until it is let in.
pub(super) const LET_IN: Disturbance = Disturbance {
    name: "fair-server",
    about: "a SCHED_OTHER thread wants the CPU of a FIFO probe for 5 ms: the fair server lets it in",
    probe: Probe::Fifo,
    possible: |place| serves(place.measured),
    expected: Expected {
        classes: &["preemption"],
        name: &[],
        culprit: Who::Itself,
        callsite: &[],
        told_by: &[],
    },
    inject: |place, count| ordinary(place, count.min(MOST), LET_IN.name, 5_000_000),
};

/// Each takes a second.
const MOST: usize = 4;
/// Seconds that are waited for them: twice as long.
const SECONDS: usize = 2 * MOST;
const SECOND_NS: u64 = 1_000_000_000;
/// The stop lasts for milliseconds, and the kernel's times are cut to a microsecond.
const CUT_NS: u64 = 2_000;

const SCHED: &str = "/sys/kernel/debug/sched";

/// Whether debugfs is there, which tells.
fn told() -> Result<(), String> {
    lab::tracefs::reach_debugfs()?;
    match Path::new(SCHED).is_dir() {
        true => Ok(()),
        false => Err(format!("{SCHED} is not there, which says what this kernel does")),
    }
}

fn throttles() -> Result<(), String> {
    told()?;
    if Path::new(SCHED).join("fair_server").is_dir() {
        return Err("this kernel has a fair server, and stops no real-time thread for nobody".to_owned());
    }
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim() == "-1" => Err(format!("{path} is -1: real-time threads are not stopped")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

fn serves(cpu: u32) -> Result<(), String> {
    told()?;
    let path = format!("{SCHED}/fair_server/cpu{cpu}/runtime");
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim() == "0" => Err(format!("{path} is 0: the fair server is switched off")),
        // Where the kernel is locked down its switches cannot be read, and nobody can have switched it off.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(format!("this kernel has no fair server: {path}: {error}")),
    }
}

/// The probe itself brings it about; when, the trace of an instance of our own tells: while the probe wants the CPU, nothing
/// but this makes it idle.
fn throttled(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let idles = Traced::begin(
        "sched/sched_switch",
        &format!("CPU == {} && next_pid == 0", place.measured),
    )?;
    let mut done = Vec::new();
    for _ in 0..SECONDS {
        clock::sleep_until(clock::now_ns() + SECOND_NS);
        done = idles
            .times("prev_comm=sampler/")?
            .into_iter()
            .map(|begin_raw_ns| Injected {
                begin_raw_ns,
                end_raw_ns: begin_raw_ns + CUT_NS,
                culprit: me(),
            })
            .collect();
        if done.len() >= count.min(MOST) {
            break;
        }
    }
    Ok(done)
}
