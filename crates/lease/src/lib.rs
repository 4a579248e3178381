//! Leases CPUs of a pool for the lifetime of an owner: a process, a unit, a container, a virtual machine.
//!
//! A lease is a layer of the journal with its own partition. The registry records which owner it belongs to, and is
//! written before the layer, so that a crash at any moment leaves nothing without an owner.

mod owner;
mod owner_absence;
mod owner_cgroup;
mod registry;

pub use owner::{LeaseOwner, OwnerIdentity};
pub use registry::{Lease, LeaseRegistry, LeaseRequest, WaitingRequest, partition_name};
