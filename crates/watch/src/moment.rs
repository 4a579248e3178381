//! Defines the lines of a recording: what was observed between two samples, and its context.

use machine::{CpuId, CpuSet};
use observe::Activity;
use plan::Level;
use serde::{Deserialize, Serialize};

/// The name and version of the recording format.
pub const SCHEMA: &str = "quietcore.watch/1";

/// The first line of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The time between two moments, in nanoseconds.
    pub every_ns: u64,
}

/// One sample of the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moment {
    /// Its number, from 0.
    pub number: u64,
    /// Wall clock, seconds since 1970.
    pub unix_s: u64,
    /// The interruptions of the CPUs since the last sample.
    pub activity: Activity,
    /// Threads of the scene that ran since the last sample.
    #[serde(default)]
    pub ran: Vec<ThreadRuntime>,
    /// The scene, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<WatchScene>,
}

/// How long a thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadRuntime {
    /// The thread.
    pub tid: u32,
    /// How often it was switched in (third number of `/proc/PID/task/TID/schedstat`).
    pub times: u64,
    /// How long it ran, in nanoseconds (first number there).
    pub ran_ns: u64,
}

/// What changes rarely: the CPUs, the threads that may run there, and the findings of `check`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchScene {
    /// Online CPUs.
    pub online: CpuSet,
    /// Offline CPUs.
    pub offline: CpuSet,
    /// CPUs meant to be isolated.
    pub isolated: CpuSet,
    /// Those of them that nothing isolates now. Recordings of older versions lack it.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub not_isolated: CpuSet,
    /// The source of that intention, as text.
    pub said_by: String,
    /// `quiet`, `noisy` or `unknown`.
    pub verdict: String,
    /// Threads that last ran on an isolated CPU, or may run nowhere else.
    pub threads: Vec<IsolatedThread>,
    /// Interrupts that may arrive on an isolated CPU.
    pub interrupts: Vec<WatchedInterrupt>,
    /// The findings of `check`, the worst first.
    pub findings: Vec<ObservedFinding>,
}

/// A thread on isolated CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IsolatedThread {
    /// Its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name (comm).
    pub comm: String,
    /// The CPU where it last ran.
    pub cpu: Option<CpuId>,
    /// The CPUs where it may run.
    pub allowed: Option<CpuSet>,
    /// `other`, `fifo:50` ...
    pub policy: String,
    /// Why it is there.
    pub place: PresenceReason,
}

/// Why a thread is on an isolated CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PresenceReason {
    /// Not intended.
    Stray,
    /// A kernel thread that can be moved.
    Kernel,
    /// A per-CPU kernel thread that cannot be moved.
    Fixed,
    /// A member of the partition.
    Inside,
}

/// An interrupt that may arrive on isolated CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedInterrupt {
    /// Its number.
    pub irq: u32,
    /// The name of its device.
    pub name: String,
    /// The CPUs where it may arrive.
    pub affinity: Option<CpuSet>,
    /// The CPUs where it does arrive.
    pub effective: Option<CpuSet>,
    /// The kernel places it (`managed`); `None` if unknown.
    pub managed: Option<bool>,
    /// It cannot be moved: a timer, a per-CPU interrupt, a chip that accepts no mask. Recordings of 0.1.0 lack it.
    #[serde(default)]
    pub is_fixed: bool,
}

/// A finding of `check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedFinding {
    /// Its stable id. Text, like the layer: another version may have written the recording.
    pub id: String,
    /// Its severity.
    pub level: Level,
    /// What it is about.
    pub subject: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// The layer that found it.
    pub layer: String,
    /// The evidence.
    pub evidence: Vec<String>,
    /// The CPUs that it is about.
    pub cpus: CpuSet,
}

impl WatchScene {
    /// The worst severity of the findings about a CPU.
    #[must_use]
    pub fn worst(&self, cpu: CpuId) -> Option<Level> {
        let about = self.findings.iter().filter(|seen| seen.cpus.contains(cpu));
        about.map(|seen| seen.level).max()
    }
}
