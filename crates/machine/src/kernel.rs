//! The kernel itself: release, preemption model, configuration, boot line.

use crate::Cmdline;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What runs the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// `/proc/sys/kernel/osrelease`.
    pub release: Option<String>,
    /// Major and minor number taken from the release.
    pub version: Option<(u32, u32)>,
    /// Who may be interrupted where.
    pub preemption: Option<Preemption>,
    /// The boot line.
    pub cmdline: Option<Cmdline>,
    /// Configuration (`CONFIG_X` -> `y`, `m`, text), from `/proc/config.gz` or `/boot/config-RELEASE`; `None`
    /// where neither is there. An option that is not set has no entry.
    pub config: Option<BTreeMap<String, String>>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Option<String>,
    /// The active word of `/sys/kernel/security/lockdown`.
    pub lockdown: Option<String>,
    /// `/proc/sys/kernel/sched_rt_runtime_us`; -1 is unlimited.
    pub sched_rt_runtime_us: Option<i64>,
    /// The current clock source.
    pub clocksource: Option<String>,
}

/// Preemption model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preemption {
    /// Server.
    None,
    /// Desktop.
    Voluntary,
    /// Low-latency desktop.
    Full,
    /// 6.13 and later.
    Lazy,
    /// `PREEMPT_RT`.
    Rt,
}
