//! Sets deadline servers (`kernel/sched/deadline.c`): they give tasks of lower classes a share of a CPU that is fully
//! used by real-time tasks. One file per CPU and server, in debugfs.

use super::declare::{EBUSY, EINVAL, EPERM};
use super::value_file::{ValueFile, set};
use super::{Knob, Presence};
use crate::{Plan, PlanContext};

/// What refusals mean for both of them.
pub(super) const REFUSED: &[(i32, &str)] = &[
    (EPERM, "kernel lockdown (Secure Boot) forbids writing to debugfs"),
    (EINVAL, "the runtime is more than the period of the server"),
    (EBUSY, "the CPU is offline, or its deadline tasks leave no room"),
];

/// The requirements of both.
pub(super) const NEEDS: &str = "its files are in debugfs: mount it (mount -t debugfs none /sys/kernel/debug), be root, and boot \
                                without kernel lockdown";

/// Sets the runtime of a server on each isolated CPU.
pub(super) fn set_all(scene: &PlanContext, plan: &mut Plan, knob: &Knob, why: &str) -> Presence {
    let mut presence = Presence::Absent;
    for cpu in scene.isolated().iter() {
        let path = format!("/sys/kernel/debug/sched/{}/cpu{}/runtime", knob.name, cpu.0);
        let part = format!("cpu{}", cpu.0);
        let value = scene.value_of(knob);
        let file = ValueFile {
            knob,
            part: &part,
            path: &path,
            value,
            why,
        };
        presence = presence.max(set(scene, plan, &file));
    }
    presence
}
