//! Disables both lockup detectors everywhere, by their threshold.
//!
//! `kernel.watchdog` and `soft_watchdog` are not used: while both detectors are off, merely reading one of these files
//! makes the kernel forget that the other was on (`kernel/watchdog.c`, `proc_watchdog_common`), so that writing 1 again
//! has no effect (seen on 6.1 and 6.12). The threshold 0 is documented to do the same, and is reversible.

use super::value_file::set_text;
use super::{Knob, KnobUse, KnobValueKind, declare};
use crate::parameters::ParameterCost;

const PATH: &str = "/proc/sys/kernel/watchdog_thresh";

pub(super) const KNOB: Knob = Knob {
    name: "watchdog",
    aliases: &["watchdog_thresh", "soft_watchdog"],
    files: &[PATH],
    related: &["/proc/sys/kernel/watchdog", "/proc/sys/kernel/soft_watchdog"],
    what: "both lockup detectors, by the seconds until a CPU counts as hung",
    isolation: "a threshold of 0 ends them everywhere, a larger one than 10 thins them out; prefer watchdog_cpumask, which \
                spares only the isolated CPUs",
    needs: "a kernel with CONFIG_LOCKUP_DETECTOR",
    usage: KnobUse::ByName,
    takes: KnobValueKind::Number(0, 60),
    usual: "0",
    price: ParameterCost::Safety,
    stops: &["nmi", "performance", "soft_hrtimer"],
    side_effects: "a CPU that hangs is not reported, and a machine that should reboot then does not",
    verify: "the file; no watchdog_timer_fn in /proc/timer_list, and the row NMI of /proc/interrupts does not change",
    peers: &["TuneD"],
    refused: &[(declare::EINVAL, "it is above 60")],
    plan: |scene, plan| {
        set_text(
            scene,
            plan,
            &KNOB,
            PATH,
            "the detectors have a timer, and where they can an NMI, on every CPU",
        )
    },
    ..Knob::PLAIN
};
