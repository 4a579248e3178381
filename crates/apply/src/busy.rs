//! Keeps CPUs busy while they leave the scheduler's domains.
//!
//! A CPU that idles without a tick is set in `nohz.idle_cpus_mask`, and any busy CPU may ask it to balance for all
//! others: a function-call interrupt and a SCHED softirq, each time. It leaves that mask at the first tick that finds
//! it busy (`nohz_balance_exit_idle` in `kernel/sched/fair.c`), but the tick of a CPU without a domain no longer checks
//! (`on_null_domain`). So a CPU that was idle when its partition was made is asked as long as the partition exists: up
//! to 200 times a second were seen on 6.1 and 7.2. One that was busy at that moment is never asked again.
//!
//! The task that keeps a CPU busy has to stay on it across that moment, so it moves with the CPU. Therefore it is a
//! process, not one of our threads.

use crate::fingerprint::ONLINE;
use crate::system::{BusyLoops, System};
use machine::{CpuId, CpuSet};
use root::Spinner;
use std::time::{Duration, Instant};

/// If a process's run time has not grown three times by then, its CPU has no tick, the kernel keeps no run times (it
/// may lack `CONFIG_SCHED_INFO`), or another program prevents it from running and so keeps the CPU busy.
const PATIENCE: Duration = Duration::from_millis(200);

/// A process that has not ended this long after it was killed is moved to another CPU.
const EXIT_PATIENCE: Duration = Duration::from_millis(20);

impl BusyLoops {
    /// Starts in the cgroup with this list, and returns when ticks have found each of these CPUs busy. If we may not
    /// run on a CPU, it is in another program's partition and has no domain to leave.
    ///
    /// The effect ends with it, and with us, so nothing is recorded.
    pub(crate) fn on(system: &dyn System, cpus: &CpuSet, list: &str) -> BusyLoops {
        let start = |cpu: CpuId| {
            let spinner = Spinner::start().ok()?;
            // If this is refused, a process in the current cgroup is better than none.
            let _ = system.write(list, &spinner.pid().to_string());
            let there = system.set_affinity(spinner.pid(), &CpuSet::from_iter([cpu]));
            there.is_ok().then_some((cpu, spinner))
        };
        let busy = BusyLoops {
            spinners: cpus.iter().filter_map(start).collect(),
        };
        busy.settle(system);
        busy
    }

    /// Their process IDs.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.spinners.iter().map(|(_, spinner)| spinner.pid()).collect()
    }

    /// Waits for ticks. The kernel updates a process's run time at ticks and when the process stops. If the process
    /// only computes, only ticks update it.
    fn settle(&self, system: &dyn System) {
        let had = |pid: u32| {
            let path = format!("/proc/{pid}/schedstat");
            let text = system.root().readable_value(&path)?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        let start = Instant::now();
        let mut seen: Vec<(u32, u64, u32)> = self.pids().into_iter().map(|pid| (pid, 0, 0)).collect();
        while seen.iter().any(|(_, _, grown)| *grown < 3) && start.elapsed() < PATIENCE {
            system.pause(Duration::from_millis(1));
            for (pid, before, grown) in &mut seen {
                let now = had(*pid).unwrap_or(*before);
                if now > *before {
                    (*before, *grown) = (now, *grown + 1);
                }
            }
        }
    }

    /// Ends the processes. A real-time task may prevent them from exiting on their CPU: they are then moved to the cgroup
    /// with this list and to other CPUs. Only then, because each move may wait for an RCU grace period.
    pub(crate) fn end(mut self, system: &dyn System, list: &str) {
        // All are killed before one is awaited.
        let killed = Instant::now();
        for (_, spinner) in &mut self.spinners {
            spinner.end_within(Duration::ZERO);
        }
        self.spinners
            .retain_mut(|(_, spinner)| !spinner.end_within(EXIT_PATIENCE.saturating_sub(killed.elapsed())));
        if self.spinners.is_empty() {
            return;
        }
        let online = machine::cpu_list(system.root(), ONLINE).unwrap_or_default();
        let busy_cpus = self.spinners.iter().map(|(cpu, _)| *cpu).collect();
        let elsewhere = online.minus(&busy_cpus);
        for (_, spinner) in &self.spinners {
            // If this is refused, the exit is awaited for as long as a [`Spinner`] waits.
            let _ = system.write(list, &spinner.pid().to_string());
            let _ = system.set_affinity(spinner.pid(), &elsewhere);
        }
    }

    /// Waits until these CPUs have no domain any more: a kernel may remove them later than it reports. If it does not
    /// report domains (without `CONFIG_SCHEDSTATS`), the full time passes.
    pub(crate) fn until_outside(&self, system: &dyn System) {
        let start = Instant::now();
        let is_outside = || {
            let text = system.root().readable_text("/proc/schedstat");
            text.is_some_and(|text| self.spinners.iter().all(|(cpu, _)| !has_domain(&text, *cpu)))
        };
        while !self.spinners.is_empty() && !is_outside() && start.elapsed() < PATIENCE {
            system.pause(Duration::from_millis(1));
        }
    }
}

/// Whether a CPU has a domain according to `/proc/schedstat`: the lines after its own describe its domains
/// (`Documentation/scheduler/sched-stats.rst`).
fn has_domain(text: &str, cpu: CpuId) -> bool {
    let own = format!("cpu{} ", cpu.0);
    let mut behind = text.lines().skip_while(|line| !line.starts_with(&own)).skip(1);
    behind.next().is_some_and(|line| line.starts_with("domain"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_belong_to_the_preceding_cpu_line() {
        let text = "version 17\ntimestamp 4294\ncpu0 0 0\ndomain0 SMT 3 1\ncpu1 0 0\ncpu10 0 0\ndomain0 MC f00 1\n";
        let found: Vec<bool> = [0, 1, 2, 10].map(|cpu| has_domain(text, CpuId(cpu))).to_vec();
        assert_eq!(found, [true, false, false, true]);
    }
}
