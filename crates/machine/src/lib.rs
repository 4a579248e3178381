//! The typed model of a machine: what the kernel's files say, and nothing about what should be done.
//!
//! Parsers take text (`parse_*(&str)`), readers take a [`root::Root`]. What a machine does not tell is `None`
//! (unknown), which is different from empty and from zero.

mod cgroups;
mod cmdline;
mod cpu_expression;
mod cpu_set;
mod error;
mod interrupts;
mod isolation;
mod kernel;
mod model;
mod tasks;
mod topology;
mod units;

pub use cgroups::{Cgroups, Hierarchy, Owner, Partition, Version};
pub use cmdline::{Cmdline, Parameter};
pub use cpu_expression::evaluate_cpus;
pub use cpu_set::CpuSet;
pub use error::ParseError;
pub use interrupts::Interrupt;
pub use isolation::Isolation;
pub use kernel::{Kernel, Preemption};
pub use model::{Machine, Unreadable};
pub use tasks::{Policy, Task, TaskKey};
pub use topology::{Cache, CacheKind, CoreKind, Cpu, Node, Topology};
pub use units::{CpuId, Nanos};
