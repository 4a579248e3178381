//! Sets on which CPU a timer is armed. With 1 an idle CPU passes new timers to a busy one (`kernel/time/timer.c`,
//! `get_nohz_timer_target`); with 0 each timer stays where it was set.

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;

const PATH: &str = "/proc/sys/kernel/timer_migration";

pub(super) const KNOB: Knob = Knob {
    name: "timer_migration",
    files: &[PATH],
    what: "lets timers go to busy CPUs instead of the one that set them",
    isolation: "1, the default, keeps timers off idle isolated CPUs",
    needs: "a kernel with CONFIG_NO_HZ_COMMON",
    usage: KnobUse::From(Profile::Balanced),
    usual: "1",
    stops: &["soft_timer"],
    side_effects: "none; booted with nohz=off it does nothing",
    verify: "the file, and the row TIMER of /proc/softirqs over time",
    peers: &["TuneD"],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "timers that idle isolated CPUs set go to housekeeping CPUs";
