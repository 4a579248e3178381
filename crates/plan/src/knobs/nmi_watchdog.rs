//! Sets the hard lockup detector alone: a performance counter on every CPU that raises an NMI when it overflows.

use super::value_file::set_text;
use super::{Knob, KnobUse, declare};
use crate::parameters::ParameterCost;

const PATH: &str = "/proc/sys/kernel/nmi_watchdog";

pub(super) const KNOB: Knob = Knob {
    name: "nmi_watchdog",
    files: &[PATH],
    usage: KnobUse::ByName,
    price: ParameterCost::Safety,
    what: "the hard lockup detector: an NMI on each CPU every few seconds of work",
    isolation: "0 frees a performance counter and ends its NMIs; prefer watchdog_cpumask, which spares only the isolated CPUs",
    needs: "a kernel with CONFIG_HARDLOCKUP_DETECTOR",
    usual: "0",
    stops: &["nmi", "performance"],
    side_effects: "a CPU that hangs with interrupts off is not reported",
    verify: "the file, and the rows NMI and PMI of /proc/interrupts over time",
    peers: &["TuneD", "pyperf"],
    refused: &[(declare::EACCES, NONE), (declare::EINVAL, NONE)],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "the hard lockup detector interrupts every CPU with NMIs and holds a performance counter";

/// Without a counter the kernel shows the file read-only.
const NONE: &str = "this machine has no performance counter for it, as most virtual machines";
