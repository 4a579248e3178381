//! Reads the kernel's counters of a running tool, from another CPU, so that nothing interrupts the measured one.

use crate::inject::clock::now_ns;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Counters of one thread of a tool at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ToolThread {
    /// Whether it may run only on the measured CPU.
    samples: bool,
    /// User and system time, as the scheduler counts it.
    on_cpu_ns: u64,
    /// Number of voluntary switches.
    voluntary: u64,
    /// Minor and major page faults.
    page_faults: u64,
}

/// Counters of all threads of a tool at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsageSnapshot {
    threads: BTreeMap<String, ToolThread>,
    /// The time, on `CLOCK_MONOTONIC`.
    at_ns: u64,
    /// Locked memory of the sampler.
    pub(crate) locked_kib: u64,
}

/// Differences between two times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct UsageDelta {
    /// Time between them, in seconds.
    pub(crate) window_s: f64,
    /// CPU time of all threads.
    pub(crate) on_cpu_ns: u64,
    /// Sleeps of the sampling thread.
    pub(crate) voluntary: u64,
    /// Page faults of the sampling thread.
    pub(crate) page_faults: u64,
    /// Locked memory of the sampler at the end.
    pub(crate) locked_kib: u64,
}

/// A process and all its living descendants.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(&pid) = all.get(next) {
        next += 1;
        for task in tasks(pid) {
            let text = std::fs::read_to_string(task.join("children")).unwrap_or_default();
            let children = text.split_whitespace().filter_map(|word| word.parse().ok());
            all.extend(children.collect::<Vec<u32>>());
        }
    }
    all
}

/// Reads all threads of these processes. Threads that end during the read are left out.
pub(crate) fn instant(family: &[u32], measured_cpu: usize) -> UsageSnapshot {
    let mut instant = UsageSnapshot {
        at_ns: now_ns(),
        ..UsageSnapshot::default()
    };
    for task in family.iter().flat_map(|&pid| tasks(pid)) {
        let read = |name: &str| std::fs::read_to_string(task.join(name)).ok();
        let texts = read("status").zip(read("schedstat")).zip(read("stat"));
        let Some(((status, schedstat), stat)) = texts else {
            continue;
        };
        if let Some(thread) = thread(&status, &schedstat, &stat, measured_cpu) {
            if thread.samples {
                let locked = field(&status, "VmLck:").and_then(|word| word.parse().ok());
                instant.locked_kib = locked.unwrap_or(0);
            }
            instant.threads.insert(task.display().to_string(), thread);
        }
    }
    instant
}

fn tasks(pid: u32) -> Vec<PathBuf> {
    let folder = Path::new("/proc").join(pid.to_string()).join("task");
    let tasks = std::fs::read_dir(folder).into_iter().flatten().flatten();
    tasks.map(|task| task.path()).collect()
}

/// The differences between two times. Threads that did not exist at both are left out.
pub(crate) fn between(before: &UsageSnapshot, after: &UsageSnapshot) -> UsageDelta {
    let mut sum = UsageDelta {
        window_s: after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9,
        locked_kib: after.locked_kib,
        ..UsageDelta::default()
    };
    for (name, then) in &before.threads {
        let Some(now) = after.threads.get(name) else {
            continue;
        };
        sum.on_cpu_ns += now.on_cpu_ns.saturating_sub(then.on_cpu_ns);
        if now.samples {
            sum.voluntary += now.voluntary.saturating_sub(then.voluntary);
            sum.page_faults += now.page_faults.saturating_sub(then.page_faults);
        }
    }
    sum
}

/// The share of a CPU's time that the hypervisor took between two texts of `/proc/stat`.
pub(crate) fn steal_share(before: &str, after: &str, cpu: usize) -> Option<f64> {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        let name = format!("cpu{cpu}");
        let row = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(&name))?;
        // user nice system idle iowait irq softirq steal; guest time is already included in user.
        row.split_whitespace()
            .skip(1)
            .take(8)
            .map(|word| word.parse().ok())
            .collect()
    };
    let (before, after) = (numbers(before)?, numbers(after)?);
    let passed: Vec<u64> = after
        .iter()
        .zip(&before)
        .map(|(now, then)| now.saturating_sub(*then))
        .collect();
    let all: u64 = passed.iter().sum();
    let steal = *passed.get(7)?;
    (all > 0).then(|| steal as f64 / all as f64)
}

fn thread(status: &str, schedstat: &str, stat: &str, measured_cpu: usize) -> Option<ToolThread> {
    // The name in parentheses may contain anything, including spaces. minflt is the 10th field, majflt the 12th.
    let behind_name: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let fault = |index: usize| behind_name.get(index).and_then(|word| word.parse::<u64>().ok());
    Some(ToolThread {
        samples: field(status, "Cpus_allowed_list:")? == measured_cpu.to_string(),
        on_cpu_ns: schedstat.split_whitespace().next()?.parse().ok()?,
        voluntary: field(status, "voluntary_ctxt_switches:")?.parse().ok()?,
        page_faults: fault(7)? + fault(9)?,
    })
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_parsed_from_kernel_files() {
        let status = "Name:\tx\nCpus_allowed_list:\t1\nvoluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n";
        let stat = "77 (a ) b) S 1 2 3 0 -1 4194560 120 7 3 0 11 12 0 0 20 0 1 0 99";
        let read = thread(status, "123456 7 8\n", stat, 1).unwrap();
        let expected = ToolThread {
            samples: true,
            on_cpu_ns: 123_456,
            voluntary: 30,
            page_faults: 123,
        };
        assert_eq!(read, expected);
        assert!(!thread(status, "1 2 3", stat, 0).unwrap().samples);
        assert_eq!(thread("", "1 2 3", stat, 0), None);
    }

    #[test]
    fn sleeps_and_faults_count_for_sampling_threads_and_time_for_all() {
        let at = |on_cpu_ns, voluntary, page_faults| {
            let sampling = ToolThread {
                samples: true,
                on_cpu_ns,
                voluntary,
                page_faults,
            };
            let other = ToolThread {
                samples: false,
                ..sampling
            };
            UsageSnapshot {
                at_ns: on_cpu_ns * 10_000_000,
                threads: [("1".into(), other), ("2".into(), sampling)].into(),
                locked_kib: 5,
            }
        };
        let expected = UsageDelta {
            window_s: 1.0,
            on_cpu_ns: 200,
            voluntary: 10,
            page_faults: 1,
            locked_kib: 5,
        };
        assert_eq!(between(&at(100, 5, 3), &at(200, 15, 4)), expected);
    }

    #[test]
    fn a_process_tree_includes_grandchildren() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sh -c 'sleep 30; :'; :"])
            .spawn()
            .unwrap();
        let limit = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let mut found = Vec::new();
        while found.len() < 3 && std::time::Instant::now() < limit {
            found = family(shell.id());
        }
        for pid in found.iter().rev() {
            // SAFETY: a plain call; these are our own children, which live for half a minute.
            unsafe { libc::kill(*pid as libc::pid_t, libc::SIGKILL) };
        }
        shell.wait().unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], shell.id());
    }

    #[test]
    fn steal_is_a_share_of_the_total_time() {
        let before = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 100 0 0 100 0 0 0 10 50 0\n";
        let after = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 150 0 0 148 0 0 0 12 99 0\n";
        assert_eq!(steal_share(before, after, 1), Some(0.02));
        assert_eq!(steal_share(before, after, 0), None);
        assert_eq!(steal_share(before, before, 1), None);
    }
}
