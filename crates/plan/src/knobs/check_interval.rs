//! Sets the poll for corrected machine errors (`arch/x86/kernel/cpu/mce/core.c`, `mce_timer_fn`): a timer on every CPU.

use super::value_file::set_text;
use super::{Knob, KnobUse, KnobValueKind};
use crate::parameters::ParameterCost;

const PATH: &str = "/sys/devices/system/machinecheck/machinecheck0/check_interval";

pub(super) const KNOB: Knob = Knob {
    name: "check_interval",
    files: &[PATH],
    usage: KnobUse::ByName,
    takes: KnobValueKind::Number(0, 86_400),
    price: ParameterCost::Safety,
    what: "seconds between looks for corrected machine errors (x86); one value for all CPUs, whichever directory it is written in",
    isolation: "0 stops the poll timer on all CPUs",
    needs: "an x86 machine with machine checks; many virtual ones have none",
    usual: "0",
    stops: &["machine_check", "soft_timer"],
    side_effects: "failing memory stays unseen until it fails hard",
    verify: "the file, and the row MCP of /proc/interrupts over time",
    peers: &["TuneD"],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "the poll for corrected machine errors is a timer on every CPU";
