//! What the answers are taken from. All of it is data, so that a lie in any of it can be rehearsed.

use crate::declared::{BootPart, ComesBack};
use crate::lint::Facts;
use machine::{CpuId, CpuSet, Machine, Settings};
use serde::Serialize;

/// Everything that is known about a boot.
pub struct Evidence<'a> {
    /// The machine, with tasks and interrupts where they could be read.
    pub machine: &'a Machine,
    /// Its kernel as the rules about boot lines take it, with what it made of the running line.
    pub facts: &'a Facts,
    /// The files of [`crate::boot_check::paths`], where they are there.
    pub settings: &'a Settings,
    /// The words that quietcore wrote: those of this boot.
    pub ours: Vec<OurWords>,
    /// What was counted.
    pub window: Window,
    /// The most bytes that this kernel keeps of a line.
    pub most: usize,
    /// What `/etc/quietcore.toml` declares.
    pub declared: Vec<Declared>,
    /// The words that the declared partitions ask of the boot line, for this very kernel; `None` where that is not known.
    pub asked: Option<Vec<String>>,
    /// The partitions of ours that are in force; `None` where only root can know.
    pub in_force: Option<Vec<InForce>>,
}

impl Evidence<'_> {
    /// The running line; empty where it is unknown.
    pub(crate) fn line(&self) -> &str {
        let line = self.machine.kernel.cmdline.as_ref();
        line.map(|line| line.text.as_str()).unwrap_or_default()
    }
}

/// A partition that `/etc/quietcore.toml` declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its CPUs, or why they are not known here.
    pub cpus: Result<CpuSet, String>,
    /// Whether the boot line belongs to it.
    pub boot: BootPart,
    /// Whether it comes back at boot.
    pub comes_back: ComesBack,
}

/// A partition of ours that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Its name.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// What was applied and does not hold any more.
    pub drift: Vec<String>,
}

/// Words that quietcore wrote together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OurWords {
    /// The words.
    pub words: Vec<String>,
    /// How far they have come.
    pub stage: Stage,
}

/// How far words of ours have come, as the journal and the running line tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// In the files, for the next boot.
    Pending,
    /// On the running line.
    Live,
    /// Booted since, without them.
    Reverted,
}

/// What was counted on the CPUs in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// This, within so many nanoseconds.
    Counted {
        /// Length of the window.
        duration_ns: u64,
        /// Its CPUs.
        cpus: Vec<CountedCpu>,
    },
    /// Nothing, for this reason.
    Nothing {
        /// The reason.
        why: String,
    },
}

/// What was counted on one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// Interrupts of its own timer; `None` where no row counts them.
    pub ticks: Option<u64>,
    /// Interrupts of devices: number or name, what it is, how often.
    pub devices: Vec<(String, String, u64)>,
    /// What ran there.
    pub busy: Busy,
}

/// What ran on a CPU during the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Busy {
    /// A busy loop of ours at the lowest priority, because nothing else lives there.
    Ours,
    /// A program that was running at the beginning and at the end.
    Theirs(String),
    /// Nothing all the time, for this reason; an idle CPU has no tick in any case.
    Idle(String),
}
