//! Generates load on the other CPUs, to show the effect of isolation.
//!
//! Every program is a child process, pinned to one CPU, at the lowest priority (`SCHED_IDLE`, else nice 19), so
//! that even a single housekeeping CPU remains usable. It allocates its memory before it starts, is the first choice of the
//! out-of-memory killer, and dies with the thread that started it. Only [`LoadKind::Fork`] forks, and only if it has
//! more than one CPU.

mod cpu;
mod fork;
mod io;
mod memory;
mod network;
mod system_calls;
mod timers;
mod tlb_shootdowns;
mod wake_ups;

use crate::MeasureError;
use crate::child::ChildProcess;
use crate::os::{self, ForkSide};
use LoadKind::{Cpu, Fork, Io, Memory, Network, SystemCalls, Timers, TlbShootdowns, WakeUps};
use machine::{CpuId, CpuSet, Policy};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Kinds of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// Endless arithmetic.
    Cpu,
    /// Copies through memory larger than the caches, and maps and unmaps pages.
    Memory,
    /// System calls at the maximum rate.
    SystemCalls,
    /// Two processes that wake each other, on two CPUs where there are two.
    WakeUps,
    /// An unnamed file in `/var/tmp`: written, synced, read back.
    Io,
    /// Datagrams over loopback.
    Network,
    /// High-resolution timers, some microseconds apart.
    Timers,
    /// Short-lived processes. Needs two CPUs.
    Fork,
    /// Unmaps pages that threads on the other CPUs of the load use. Needs two CPUs.
    TlbShootdowns,
}

impl LoadKind {
    /// All kinds.
    pub const ALL: [LoadKind; 9] = [
        Cpu,
        Memory,
        SystemCalls,
        WakeUps,
        Io,
        Network,
        Timers,
        Fork,
        TlbShootdowns,
    ];

    /// Kinds that work on any CPU of any machine: they do not fork, and use neither a disk nor the network.
    pub const ANYWHERE: [LoadKind; 4] = [Cpu, Memory, SystemCalls, WakeUps];

    /// Its name in files and on the screen.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cpu => "cpu",
            Memory => "memory",
            SystemCalls => "system_calls",
            WakeUps => "wake_ups",
            Io => "io",
            Network => "network",
            Timers => "timers",
            Fork => "fork",
            TlbShootdowns => "tlb_shootdowns",
        }
    }

    /// The minimum number of CPUs for this kind of load.
    #[must_use]
    pub fn least_cpus(self) -> usize {
        match self {
            Fork | TlbShootdowns => 2,
            _ => 1,
        }
    }
}

/// Running load; ends when dropped, and when the thread that started it dies.
#[derive(Debug)]
pub struct RunningLoad {
    children: Vec<(LoadKind, ChildProcess)>,
}

impl RunningLoad {
    /// Starts one program per CPU and kind; TLB shootdowns are one program for all CPUs.
    ///
    /// The children use no allocator and no lock after the fork, so the caller may have threads. They die with
    /// the calling thread (`PR_SET_PDEATHSIG` watches the thread, not the process), so that thread must live as long as
    /// the load.
    ///
    /// # Errors
    /// [`MeasureError::MeasureRequest`] for fewer CPUs than a kind needs, [`MeasureError::NotAllowed`] for a CPU that this process
    /// may not use, [`MeasureError::Os`] if a process or its memory was refused.
    pub fn start(cpus: &CpuSet, kinds: &[LoadKind]) -> Result<RunningLoad, MeasureError> {
        let all: Vec<CpuId> = cpus.iter().collect();
        if all.is_empty() {
            return Err(MeasureError::Request {
                what: "load",
                why: "no CPU is left for it".to_owned(),
                next: "leave at least one CPU unmeasured".to_owned(),
            });
        }
        if let Ok(allowed) = os::allowed()
            && let Some(cpu) = cpus.minus(&allowed).first()
        {
            return Err(MeasureError::NotAllowed { cpu, allowed });
        }
        if let Some(kind) = kinds.iter().find(|kind| kind.least_cpus() > all.len()) {
            return Err(MeasureError::Request {
                what: "load",
                why: format!(
                    "{} needs {} CPUs, and only CPU {cpus} is available",
                    kind.name(),
                    kind.least_cpus()
                ),
                next: "choose another kind or more CPUs".to_owned(),
            });
        }
        let mut load = RunningLoad { children: Vec::new() };
        for &kind in kinds {
            if kind == TlbShootdowns {
                let first = all.first().copied().unwrap_or(CpuId(0));
                load.spawn(kind, first, || tlb_shootdowns::run(&all))?;
                continue;
            }
            for (place, &cpu) in all.iter().enumerate() {
                match kind {
                    Cpu => load.spawn(kind, cpu, cpu::run)?,
                    Memory => load.spawn(kind, cpu, || memory::run(all.len()))?,
                    SystemCalls => load.spawn(kind, cpu, system_calls::run)?,
                    Io => load.spawn(kind, cpu, io::run)?,
                    Network => load.spawn(kind, cpu, network::run)?,
                    Timers => load.spawn(kind, cpu, timers::run)?,
                    Fork => load.spawn(kind, cpu, fork::run)?,
                    TlbShootdowns => {}
                    WakeUps => {
                        let pair = wake_ups::PipePair::new().map_err(MeasureError::os("make a pipe"))?;
                        let partner = all.get((place + 1) % all.len()).copied().unwrap_or(cpu);
                        load.spawn(kind, cpu, || pair.run(wake_ups::WakeUpRole::SendsFirst))?;
                        load.spawn(kind, partner, || pair.run(wake_ups::WakeUpRole::Answers))?;
                    }
                }
            }
        }
        Ok(load)
    }

    /// The PIDs of the programs that are still running.
    pub fn running(&mut self) -> Vec<u32> {
        self.children
            .iter_mut()
            .filter_map(|(_, child)| child.exit_text().is_none().then_some(child.pid()))
            .collect()
    }

    /// The kinds with a program that ended by itself, which is always a failure: a full disk, no loopback, no memory.
    pub fn broken(&mut self) -> Vec<LoadKind> {
        let mut kinds: Vec<LoadKind> = self
            .children
            .iter_mut()
            .filter_map(|(kind, child)| child.exit_text().is_some().then_some(*kind))
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Ends the programs and waits for them.
    pub fn stop(self) {}

    fn spawn(&mut self, kind: LoadKind, cpu: CpuId, program: impl FnOnce()) -> Result<(), MeasureError> {
        let parent = std::process::id();
        let only = CpuSet::range(cpu.0, cpu.0);
        // Forked on its CPU, so that the child inherits the mask and need not allocate to set it.
        let aside = os::step_onto(&only).map_err(MeasureError::os("pin a load program to its CPU"))?;
        let side = os::fork().map_err(MeasureError::os("start a load program"))?;
        if let ForkSide::Parent(pid) = side {
            drop(aside);
            self.children.push((kind, ChildProcess::new(pid)));
            return Ok(());
        }
        os::block_signals();
        if os::kill_with_parent(parent) {
            if os::set_policy_of(0, Policy::Idle, 0).is_err() {
                os::be_nice();
            }
            offer_to_oom_killer();
            program();
        }
        os::exit_now(1)
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            // A SCHED_IDLE task on a busy CPU would take seconds to die. The kernel refuses this without privilege.
            if child.exit_text().is_none() {
                let _ = os::set_policy_of(child.pid(), Policy::Other, 0);
            }
            child.kill();
        }
        self.children
            .iter_mut()
            .for_each(|(_, child)| child.end(Duration::from_secs(5)));
    }
}

/// Raising a process's own score needs no privilege.
fn offer_to_oom_killer() {
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open("/proc/self/oom_score_adj", flags, rustix::fs::Mode::empty()) {
        let _ = rustix::io::write(&file, b"1000");
    }
}
