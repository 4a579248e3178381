//! Collects the evidence for the answers. All of it is data, so that tests can falsify any part.

use crate::declared::{ActivationMode, BootPart};
use crate::lint::KernelFacts;
use machine::cmdline::BootWordStage;
use machine::{CpuId, CpuSet, Machine, Settings};
use root::Failure;
use std::fmt;

/// Everything that is known about a boot.
pub struct BootEvidence<'a> {
    /// The machine, with tasks and interrupts if they could be read.
    pub machine: &'a Machine,
    /// Its kernel's facts for the rules about boot lines, with the result of the running line.
    pub facts: &'a KernelFacts,
    /// The files of [`crate::boot_check::paths`] that exist.
    pub settings: &'a Settings,
    /// The words that quietcore wrote: those of this boot.
    pub own_words: Vec<OwnBootWords>,
    /// The counts.
    pub window: CountWindow,
    /// The maximum length of a line in this kernel, in bytes.
    pub most: usize,
    /// What `/etc/quietcore.toml` declares.
    pub declared: Vec<DeclaredPartition>,
    /// The words that the declared partitions require on the boot line, for this specific kernel; `None` if unknown.
    pub declared_words: Option<Vec<String>>,
    /// The active partitions of ours; `None` if only root can know.
    pub in_force: Option<Vec<PartitionDrift>>,
}

impl BootEvidence<'_> {
    /// The running line; empty if it is unknown.
    pub(crate) fn line(&self) -> &str {
        let line = self.machine.kernel.cmdline.as_ref();
        line.map(|line| line.text.as_str()).unwrap_or_default()
    }
}

/// A partition that `/etc/quietcore.toml` declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredPartition {
    /// Its name.
    pub name: String,
    /// Its CPUs, or why they are unknown here.
    pub cpus: Result<CpuSet, UnknownCpus>,
    /// Whether its declaration includes the boot line.
    pub boot: BootPart,
    /// Whether it is restored at boot.
    pub restored_at_boot: ActivationMode,
}

/// Why the CPUs of a declared partition are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownCpus {
    /// They are chosen when it is applied.
    ChosenLater,
    /// The expression in the file is wrong on this machine.
    Wrong(Failure),
}

impl fmt::Display for UnknownCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownCpus::ChosenLater => {
                f.write_str("its CPUs are chosen when it is applied, so the boot line cannot name them")
            }
            UnknownCpus::Wrong(error) => f.write_str(&error.reason()),
        }
    }
}

/// An active partition of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDrift {
    /// Its name.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// What was applied and is no longer the case.
    pub drift: Vec<String>,
}

/// Words that quietcore wrote together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnBootWords {
    /// The words.
    pub words: Vec<String>,
    /// The stage they have reached.
    pub stage: BootWordStage,
}

/// The counts on the CPUs in question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountWindow {
    /// Counts within this many nanoseconds.
    Counted {
        /// Length of the window.
        duration_ns: u64,
        /// Its CPUs.
        cpus: Vec<CpuCounts>,
    },
    /// Not counted, for this reason.
    Nothing {
        /// The reason.
        why: String,
    },
}

/// The counts on one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCounts {
    /// The CPU.
    pub cpu: CpuId,
    /// Interrupts of its own timer; `None` if no row counts them.
    pub ticks: Option<u64>,
    /// Device interrupts: number or name, description, count.
    pub devices: Vec<(String, String, u64)>,
    /// What ran there.
    pub busy: CpuOccupant,
}

/// What ran on a CPU during the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuOccupant {
    /// A busy loop of ours at the lowest priority, because nothing else runs there.
    OwnLoop,
    /// A program that was running at the beginning and at the end.
    OtherProgram(String),
    /// Nothing for the whole window, for this reason; an idle CPU has no tick in any case.
    Idle(String),
}
