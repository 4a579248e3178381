//! Defines notifications of changes on the machine, by the kernel or by another program.

use serde::{Deserialize, Serialize};

/// A process that wrote a kernel file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriterProcess {
    /// The process.
    pub pid: u32,
    /// Its name; `None` if it had ended before the name could be read.
    pub comm: Option<String>,
    /// What it wrote.
    pub wrote: String,
}

/// An event of the process connector about a thread (`enum proc_cn_event` in `cn_proc.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// A process or a thread was created.
    Created {
        /// Its number.
        tid: u32,
        /// The thread that it inherited its mask from: in another process, or for a thread the first one of its own process.
        parent: u32,
    },
    /// It executed a program, or changed its name or user.
    Became {
        /// Its number.
        tid: u32,
    },
    /// It ended.
    Ended {
        /// Its number.
        tid: u32,
    },
}

/// A change that may alter what `check` finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A thread arrived on isolated CPUs, or may run on different ones.
    Thread,
    /// A uevent of the kernel.
    Device {
        /// `add`, `remove`, `change`, `online`, `offline`, `bind` ...
        action: String,
        /// The path below `/sys`.
        path: String,
    },
    /// A network interface or one of its addresses appeared, changed or disappeared.
    Network,
    /// A kernel file was written.
    Wrote(WriterProcess),
    /// The set of interrupt numbers changed.
    Interrupts,
    /// The declarations or the active partitions changed.
    Intention,
    /// A source dropped messages: anything may have happened.
    Lost,
    /// A periodic check of these layers, because no source reports everything about them.
    Round(super::Layers),
}
