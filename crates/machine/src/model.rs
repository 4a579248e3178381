//! One machine, all its parts.

use crate::{Cgroups, Interrupt, Isolation, Kernel, Task, Topology};
use root::Origin;

/// A machine as read from a [`root::Root`].
#[derive(Clone, Debug)]
pub struct Machine {
    /// Live or captured.
    pub origin: Origin,
    /// The kernel.
    pub kernel: Kernel,
    /// CPUs, caches, nodes.
    pub topology: Topology,
    /// What is isolated already.
    pub isolation: Isolation,
    /// cpuset cgroups.
    pub cgroups: Cgroups,
    /// Every thread, by number; `None` until asked for, or where `/proc` shows none.
    pub tasks: Option<Vec<Task>>,
    /// Every numbered interrupt; `None` until asked for, or unknown.
    pub interrupts: Option<Vec<Interrupt>>,
    /// What was there but could not be read, so that no verb mistakes it for absent.
    pub unreadable: Vec<Unreadable>,
}

/// A file that exists and that we could not read or understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Path inside the root.
    pub path: String,
    /// Why.
    pub why: String,
}
