//! Where cpuset cgroups live on this machine, which exist, and who owns the tree.

use crate::CpuSet;
use serde::{Deserialize, Serialize};

/// The cgroup layout as far as CPU isolation needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroups {
    /// The hierarchy that has the cpuset controller; `None` where the kernel or the mounts give none.
    pub cpuset: Option<Hierarchy>,
    /// Every mounted hierarchy: path and controllers (`["name=systemd"]`, `[]` for v2).
    pub mounts: Vec<(Version, String, Vec<String>)>,
    /// Who manages the tree, as far as the machine shows it.
    pub owners: Vec<Owner>,
}

/// cgroup version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The hierarchy that holds the cpuset controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// v1 or v2.
    pub version: Version,
    /// Where it is mounted, for example `/sys/fs/cgroup/cpuset`.
    pub mount: String,
    /// What stands before the file names: `cpuset.`, or empty for a v1 mount with `noprefix`.
    pub prefix: String,
    /// Whether the mount is read-only.
    pub read_only: bool,
    /// v1 mounted with `cpuset_v2_mode`.
    pub v2_mode: bool,
    /// Every cpuset cgroup, the root first, parents before children.
    pub sets: Vec<Partition>,
}

/// One cpuset cgroup. `name` is its path below the mount (`/` for the root, `/rt`, `/docker/abc`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Path below the mount.
    pub name: String,
    /// v1 or v2.
    pub version: Version,
    /// `cpuset.cpus`; empty on v2 means "as the parent"; `None` where the controller is not enabled.
    pub cpus: Option<CpuSet>,
    /// `cpuset.cpus.effective` or `cpuset.effective_cpus`.
    pub effective_cpus: Option<CpuSet>,
    /// `cpuset.mems` as text.
    pub mems: Option<String>,
    /// v1 `cpu_exclusive`.
    pub cpu_exclusive: Option<bool>,
    /// v1 `sched_load_balance`.
    pub sched_load_balance: Option<bool>,
    /// v2 `cpuset.cpus.partition` as read (`member`, `root`, `isolated`, `isolated invalid (reason)`).
    pub partition: Option<String>,
    /// v2 `cpuset.cpus.exclusive`.
    pub cpus_exclusive: Option<CpuSet>,
}

/// A manager of cgroups that we must cooperate with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// systemd as init.
    Systemd,
    /// Docker (`/docker`, `docker-*.scope`).
    Docker,
    /// libvirt (`/machine`, `machine.slice`).
    Libvirt,
    /// Kubernetes (`/kubepods`, `kubepods.slice`).
    Kubernetes,
    /// cset's `system` and `user` sets.
    Cset,
    /// partrt's `nrt` and `rt` sets that are not ours.
    Partrt,
}
