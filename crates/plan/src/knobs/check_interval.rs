//! Sets the poll for corrected machine errors (`arch/x86/kernel/cpu/mce/core.c`, `mce_timer_fn`): a timer on every CPU.

use super::{Knob, KnobValueKind};
use crate::parameters::ParameterCost;

pub(super) const KNOB: Knob = Knob {
    name: "check_interval",
    files: &["/sys/devices/system/machinecheck/machinecheck0/check_interval"],
    takes: KnobValueKind::Number(0, 86_400),
    price: ParameterCost::Safety,
    what: "seconds between polls for corrected machine errors (x86); one value for all CPUs, whichever file it is \
         written to",
    why: "the poll for corrected machine errors is a timer on every CPU",
    isolation: "0 stops the poll timer on all CPUs",
    needs: "an x86 machine with machine checks; many virtual ones have none",
    usual: "0",
    stops: &["machine_check", "soft_timer"],
    side_effects: "failing memory is not noticed until it fails completely",
    verify: "the file, and the row MCP of /proc/interrupts over time",
    peers: &["TuneD"],
    ..Knob::PLAIN
};
