//! Models a machine in types: the contents of the kernel's files, and nothing about what should be done.
//!
//! Parsers take text (`parse_*(&str)`), readers take a [`root::Root`]. Unknown values are `None`, which is different
//! from empty and from zero.

pub mod capture;
pub mod cgroup_owners;
pub mod cgroups;
pub mod cmdline;
mod cpu_expression;
mod cpu_set;
pub mod devices;
mod error;
pub mod interrupts;
pub mod irqbalance;
mod isolation;
pub mod kernel;
mod links;
mod map_entries;
mod model;
pub mod neighbours;
mod order_by;
mod reading;
pub mod settings;
pub mod tasks;
pub mod temperatures;
mod time;
pub mod topology;
mod units;
mod walk;

pub use cgroups::{Cgroups, Hierarchy, Owner, Partition, Version, is_within};
pub use cmdline::{Cmdline, Parameter, parse_cmdline, same_name};
pub use cpu_expression::evaluate_cpus;
pub use cpu_set::CpuSet;
pub use error::ParseError;
pub use interrupts::{ImmovableReason, Interrupt, parse_interrupts};
pub use isolation::Isolation;
pub use kernel::{Kernel, Preemption};
pub use map_entries::MapEntries;
pub use model::Machine;
pub use order_by::OrderBy;
pub use reading::{UnreadableFile, cpu_list};
pub use settings::Settings;
pub use tasks::{MaskCount, Policy, Task, TaskKey, parse_stat, parse_status_allowed};
pub use time::{duration_text, nanoseconds, parse_duration, utc_text};
pub use topology::{Cache, CacheKind, CoreKind, Cpu, CpuGroup, Node, Topology};
pub use units::{CpuId, Nanos};
