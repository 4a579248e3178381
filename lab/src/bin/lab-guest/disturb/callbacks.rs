//! RCU callbacks: objects that a thread on the measured CPU releases are freed there, one grace period later.

use super::counted::{SOFTIRQS, count as counted, wait_until};
use super::{Disturbance, InjectionSite, ProbePolicy, always, place_thread};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "rcu-callbacks",
    about: "a FIFO thread there closes pipes: RCU frees them there after a grace period",
    probe: ProbePolicy::Other,
    possible: always,
    expected: ExpectedBlame {
        // With PREEMPT_RT rcuc/N runs them; where callbacks are offloaded, rcuop/N does.
        classes: &["soft_rcu", "kernel_thread"],
        name: &["RCU", "rcu"],
        // The tick raises the softirq for all callbacks that have accumulated.
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

/// Number of pipes to close. Each has an inode that RCU frees.
const PIPES: usize = 16;

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    place_thread(DISTURBANCE.name, place.measured, "fifo:60")?;
    let measured = place.measured;
    let threads = rcu_threads(measured)?;
    place.perform_repeatedly(count, || {
        let ran = || Ok::<u64, String>(counted(SOFTIRQS, "RCU", measured)? + switches(&threads));
        let before = ran()?;
        for _ in 0..PIPES {
            open_and_close()?;
        }
        grace_period()?;
        wait_until("callbacks of RCU", || Ok(ran()? > before))
    })
}

fn open_and_close() -> Result<(), String> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors, which are closed at once.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(format!("pipe: {}", Error::last_os_error()));
        }
        for end in ends {
            libc::close(end);
        }
    }
    Ok(())
}

/// Waits for a grace period, with `MEMBARRIER_CMD_GLOBAL`.
fn grace_period() -> Result<(), String> {
    // SAFETY: a system call of three numbers.
    match unsafe { libc::syscall(libc::SYS_membarrier, 1, 0, 0) } {
        0 => Ok(()),
        _ => Err(format!("membarrier: {}", Error::last_os_error())),
    }
}

/// Kernel threads that run callbacks of this CPU instead of the softirq.
fn rcu_threads(cpu: u32) -> Result<Vec<String>, String> {
    let names = [format!("rcuc/{cpu}"), format!("rcuop/{cpu}"), format!("rcuos/{cpu}")];
    let processes = std::fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let is_one = |path: &std::path::Path| {
        let comm = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        names.iter().any(|name| comm.trim_end() == name)
    };
    Ok(processes
        .flatten()
        .filter(|entry| is_one(&entry.path()))
        .map(|entry| entry.path().join("status").display().to_string())
        .collect())
}

/// Number of context switches of these threads.
fn switches(threads: &[String]) -> u64 {
    let of = |file: &String| -> Option<u64> {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    threads.iter().filter_map(of).sum()
}
