//! Notifications of changes on the machine, by the kernel or by another program.

use serde::{Deserialize, Serialize};

/// Who wrote a file of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// The process.
    pub pid: u32,
    /// Its name; `None` where it had ended before anybody could ask.
    pub comm: Option<String>,
    /// What it wrote.
    pub wrote: String,
}

/// What the process connector tells of a thread (`enum proc_cn_event` in `cn_proc.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// It was made, a process or a thread.
    Born {
        /// Its number.
        tid: u32,
        /// Who has made it and gave it its mask: another process, or for a thread the first one of its own.
        parent: u32,
    },
    /// It became another program, or another name or user.
    Became {
        /// Its number.
        tid: u32,
    },
    /// It is gone.
    Ended {
        /// Its number.
        tid: u32,
    },
}

/// A change that may alter what `check` finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A thread has come to where isolated CPUs are among its own, or has other CPUs than before.
    Thread,
    /// A uevent of the kernel.
    Device {
        /// `add`, `remove`, `change`, `online`, `offline`, `bind` ...
        action: String,
        /// Below `/sys`.
        path: String,
    },
    /// A network interface or an address of one came, changed or went.
    Network,
    /// A file of the kernel was written.
    Wrote(Writer),
    /// The interrupts that there are, by number, are others than before.
    Interrupts,
    /// What is declared or in force has changed.
    Intention,
    /// A source had to leave something out: anything may have happened.
    Lost,
    /// Time to look at these by itself, because no source tells of all of it.
    Round(super::Layers),
}
