//! What was seen between two looks at the counters, and what stands around it: the lines of a recording.

use machine::{CpuId, CpuSet};
use observe::Activity;
use plan::Level;
use serde::{Deserialize, Serialize};

/// Name and version of a recording.
pub const SCHEMA: &str = "quietcore.watch/1";

/// The first line of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Time from one moment to the next, in nanoseconds.
    pub every_ns: u64,
}

/// One look at the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Its place in the row, from 0 on.
    pub number: u64,
    /// Wall clock, seconds since 1970.
    pub unix_s: u64,
    /// What the CPUs were interrupted by since the last one.
    pub activity: Activity,
    /// Threads of the scene that ran since the last one.
    #[serde(default)]
    pub ran: Vec<Ran>,
    /// What stands around it, where that is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scene: Option<Scene>,
}

/// How much a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The thread.
    pub tid: u32,
    /// How often it was put on a CPU (third number of `/proc/PID/task/TID/schedstat`).
    pub times: u64,
    /// How long it had one, in nanoseconds (first number there).
    pub ran_ns: u64,
}

/// What changes seldom: the CPUs, who may run there, and what `check` found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// CPUs that run.
    pub online: CpuSet,
    /// CPUs that are there and do not run.
    pub offline: CpuSet,
    /// CPUs that somebody wants left in peace.
    pub isolated: CpuSet,
    /// Those of them that nothing isolates now. Recordings of older versions do not state it.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub not_isolated: CpuSet,
    /// Who wants it, in words.
    pub said_by: String,
    /// `quiet`, `noisy` or `unknown`.
    pub verdict: String,
    /// Threads that were last on an isolated CPU, or may run nowhere else.
    pub threads: Vec<Thread>,
    /// Interrupts that may arrive on an isolated CPU.
    pub interrupts: Vec<Interrupt>,
    /// What `check` found, the worst first.
    pub findings: Vec<Seen>,
}

/// A thread that touches isolated CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name, as it calls itself.
    pub comm: String,
    /// Where it last ran.
    pub cpu: Option<CpuId>,
    /// Where it may run.
    pub allowed: Option<CpuSet>,
    /// `other`, `fifo:50` ...
    pub policy: String,
    /// Why it is there.
    pub place: Place,
}

/// Why a thread is on an isolated CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Nobody meant it to be.
    Stray,
    /// The kernel's, and it can be moved.
    Kernel,
    /// The kernel's own of this CPU: nobody can move it.
    Fixed,
    /// It lives in the partition.
    Inside,
}

/// An interrupt that may arrive on isolated CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Its number.
    pub irq: u32,
    /// Name of its device.
    pub name: String,
    /// Where it may arrive.
    pub affinity: Option<CpuSet>,
    /// Where it does.
    pub effective: Option<CpuSet>,
    /// The kernel places it (`managed`); `None` where that is not told.
    pub managed: Option<bool>,
    /// Nothing moves it: a timer, one of each CPU, a chip that accepts no mask. Recordings of 0.1.0 do not say.
    #[serde(default)]
    pub is_fixed: bool,
}

/// A finding of `check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its stable id.
    pub id: String,
    /// How much it matters.
    pub level: Level,
    /// What it is about.
    pub subject: String,
    /// What is so.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// The layer that found it.
    pub layer: String,
    /// What was seen.
    pub evidence: Vec<String>,
    /// The CPUs that it is about.
    pub cpus: CpuSet,
}

impl Scene {
    /// The worst that was found about a CPU.
    #[must_use]
    pub fn worst(&self, cpu: CpuId) -> Option<Level> {
        let about = self.findings.iter().filter(|seen| seen.cpus.contains(cpu));
        about.map(|seen| seen.level).max()
    }
}
