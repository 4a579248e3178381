//! Sets the lockup detectors (`kernel/watchdog.c`): a timer and, where there is a performance counter for it, an NMI on every CPU.

use super::{Knob, KnobUse, KnobValueKind, declare};
use crate::parameters::ParameterCost;
use crate::{Profile, ReadbackComparison};

/// Sets which CPUs the lockup detectors watch (`kernel/watchdog.c`). By default all except those of `nohz_full=`;
/// partitions do not change it.
pub(super) const WATCHDOG_CPUMASK: Knob = Knob {
    name: "watchdog_cpumask",
    files: &["/proc/sys/kernel/watchdog_cpumask"],
    what: "which CPUs the lockup detectors watch",
    why: "the watchdog has a timer, and if possible an NMI, on every CPU that it watches",
    isolation: "the housekeeping CPUs: no watchdog timer and no NMI on the others; nohz_full CPUs are excluded by \
         default",
    since: "4.1",
    needs: "a kernel with CONFIG_LOCKUP_DETECTOR",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["nmi", "performance", "soft_hrtimer"],
    side_effects: "a hang of an isolated CPU is not reported; khungtaskd still watches its tasks",
    verify: "the file, and the row NMI of /proc/interrupts over time",
    peers: &["TuneD"],
    compare: ReadbackComparison::List,
    ..Knob::PLAIN
};

/// Disables both lockup detectors everywhere, by their threshold.
///
/// `kernel.watchdog` and `soft_watchdog` are not used: while both detectors are off, merely reading one of these files
/// makes the kernel forget that the other was on (`kernel/watchdog.c`, `proc_watchdog_common`), so that writing 1 again
/// has no effect (seen on 6.1 and 6.12). The threshold 0 is documented to do the same, and is reversible.
pub(super) const WATCHDOG: Knob = Knob {
    name: "watchdog",
    aliases: &["watchdog_thresh", "soft_watchdog"],
    files: &["/proc/sys/kernel/watchdog_thresh"],
    related: &["/proc/sys/kernel/watchdog", "/proc/sys/kernel/soft_watchdog"],
    what: "both lockup detectors, by the seconds after which a CPU counts as hung",
    why: "the detectors have a timer, and if possible an NMI, on every CPU",
    isolation: "a threshold of 0 stops them everywhere, one larger than 10 makes them run less often; prefer \
         watchdog_cpumask, which excludes only the isolated CPUs",
    needs: "a kernel with CONFIG_LOCKUP_DETECTOR",
    takes: KnobValueKind::Number(0, 60),
    usual: "0",
    price: ParameterCost::Safety,
    stops: &["nmi", "performance", "soft_hrtimer"],
    side_effects: "a hung CPU is not reported, and a machine that should reboot then does not",
    verify: "the file; no watchdog_timer_fn in /proc/timer_list, and the row NMI of /proc/interrupts does not change",
    peers: &["TuneD"],
    refused: &[(declare::EINVAL, "it is above 60")],
    ..Knob::PLAIN
};

/// Sets the hard lockup detector alone: a performance counter on every CPU that raises an NMI when it overflows.
pub(super) const NMI_WATCHDOG: Knob = Knob {
    name: "nmi_watchdog",
    files: &["/proc/sys/kernel/nmi_watchdog"],
    price: ParameterCost::Safety,
    what: "the hard lockup detector: one NMI on each CPU every few seconds of work",
    why: "the hard lockup detector interrupts every CPU with NMIs and uses a performance counter",
    isolation: "0 frees a performance counter and ends its NMIs; prefer watchdog_cpumask, which excludes only the \
         isolated CPUs",
    needs: "a kernel with CONFIG_HARDLOCKUP_DETECTOR",
    usual: "0",
    stops: &["nmi", "performance"],
    side_effects: "a CPU that hangs with interrupts disabled is not reported",
    verify: "the file, and the rows NMI and PMI of /proc/interrupts over time",
    peers: &["TuneD", "pyperf"],
    refused: &[(declare::EACCES, NONE), (declare::EINVAL, NONE)],
    ..Knob::PLAIN
};

const NONE: &str = "this machine has no performance counter for it, like most virtual machines";
