//! Both lockup detectors, off everywhere. Their own two files are written and not `kernel.watchdog`, which stands
//! for both: on old kernels (4.14) it could not give back that only one of them was on.

use super::value_file::{ValueFile, set};
use super::{Knob, Presence, Taken, declare};
use crate::parameters::Price;
use crate::{Compare, Plan, Scene};

const SOFT: &str = "/proc/sys/kernel/soft_watchdog";
const HARD: &str = "/proc/sys/kernel/nmi_watchdog";

pub(super) const KNOB: Knob = Knob {
    name: "watchdog",
    aliases: &["soft_watchdog"],
    files: &["/proc/sys/kernel/watchdog", SOFT],
    what: "both lockup detectors",
    isolation: "0 ends them everywhere; prefer watchdog_cpumask, which spares only the isolated CPUs",
    needs: "a kernel with CONFIG_LOCKUP_DETECTOR",
    taken: Taken::ByName,
    usual: "",
    price: Price::Safety,
    stops: &["nmi", "performance", "soft_hrtimer"],
    side_effects: "a CPU that hangs is reported by nobody, and a machine that should reboot then does not",
    verify: "soft_watchdog and nmi_watchdog read 0, and the row NMI of /proc/interrupts stands still",
    peers: &["TuneD"],
    refused: &[(
        declare::EACCES,
        "this machine has no performance counter for it, as most virtual machines",
    )],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &Scene, plan: &mut Plan) -> Presence {
    let one = |part, path, why| ValueFile {
        knob: &KNOB,
        part,
        path,
        value: "0",
        compare: Compare::Text,
        why,
    };
    let soft = one(
        "soft",
        SOFT,
        "the soft lockup detector has a timer and a stopper thread on every CPU",
    );
    let hard = one(
        "nmi",
        HARD,
        "the hard lockup detector interrupts every CPU with NMIs",
    );
    set(scene, plan, &soft).max(set(scene, plan, &hard))
}
