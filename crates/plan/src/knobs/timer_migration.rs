//! Sets on which CPU a timer is armed. With 1 an idle CPU passes new timers to a busy one (`kernel/time/timer.c`,
//! `get_nohz_timer_target`); with 0 each timer stays where it was set.

use super::{Knob, KnobUse};
use crate::Profile;

pub(super) const KNOB: Knob = Knob {
    name: "timer_migration",
    files: &["/proc/sys/kernel/timer_migration"],
    what: "lets timers move to busy CPUs instead of the CPU that set them",
    why: "timers that idle isolated CPUs set move to housekeeping CPUs",
    isolation: "1, the default, keeps timers off idle isolated CPUs",
    needs: "a kernel with CONFIG_NO_HZ_COMMON",
    usage: KnobUse::From(Profile::Balanced),
    usual: "1",
    stops: &["soft_timer"],
    side_effects: "none; no effect if booted with nohz=off",
    verify: "the file, and the row TIMER of /proc/softirqs over time",
    peers: &["TuneD"],
    ..Knob::PLAIN
};
