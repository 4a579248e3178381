//! Sets deadline servers (`kernel/sched/deadline.c`): they give tasks of lower classes a share of a CPU that is fully
//! used by real-time tasks. One file per CPU and server, in debugfs.

use super::declare::{EBUSY, EINVAL, EPERM};
use super::{Knob, KnobValueKind};
use crate::parameters::ParameterCost;

/// Sets the deadline server for ordinary tasks, which replaced real-time throttling.
pub(super) const FAIR_SERVER: Knob = Knob {
    name: "fair_server",
    files: &["/sys/kernel/debug/sched/fair_server/cpuN/runtime"],
    what: "gives ordinary tasks 5 % of a CPU that real-time tasks fill",
    why: "the server has a timer on the CPU, even if only one task runs",
    isolation: "0 stops the server and its timer interrupts on one CPU; then no other task ever runs beside a busy \
         real-time loop",
    since: "6.12",
    needs: NEEDS,
    takes: KnobValueKind::Number(0, 1_000_000_000),
    usual: "0",
    price: ParameterCost::Safety,
    stops: &["tick"],
    side_effects: "a real-time loop on that CPU starves everything else there, including kernel threads that others \
         wait for; 6.12 was seen to log a warning (kernel/sched/deadline.c) and to taint itself when it is written",
    verify: "the file of each isolated CPU, in nanoseconds per period",
    peers: &["TuneD"],
    refused: REFUSED,
    ..Knob::PLAIN
};

/// Sets the deadline server for tasks of a scheduler loaded as BPF (sched_ext).
pub(super) const EXT_SERVER: Knob = Knob {
    name: "ext_server",
    files: &["/sys/kernel/debug/sched/ext_server/cpuN/runtime"],
    what: "as fair_server, for tasks of a sched_ext scheduler",
    why: "the server has a timer on the CPU while a sched_ext scheduler runs",
    isolation: "as fair_server",
    since: "7.0",
    needs: NEEDS,
    takes: KnobValueKind::Number(0, 1_000_000_000),
    usual: "0",
    price: ParameterCost::Safety,
    stops: &["tick"],
    side_effects: "a real-time loop on that CPU starves everything else there, including kernel threads that others \
         wait for",
    verify: "the file of each isolated CPU, in nanoseconds per period",
    peers: &["TuneD"],
    refused: REFUSED,
    ..Knob::PLAIN
};

/// What refusals mean for both of them.
const REFUSED: &[(i32, &str)] = &[
    (EPERM, "kernel lockdown (Secure Boot) forbids writing to debugfs"),
    (EINVAL, "the runtime is more than the period of the server"),
    (EBUSY, "the CPU is offline, or its deadline tasks leave no room"),
];

/// The requirements of both.
const NEEDS: &str = "its files are in debugfs: mount it (mount -t debugfs none /sys/kernel/debug), run as root, and \
     boot without kernel lockdown";
