//! Sets which CPUs the lockup detectors watch (`kernel/watchdog.c`). By default all except those of `nohz_full=`;
//! partitions do not change it.

use super::mask_file::{MaskFile, narrow};
use super::{Knob, KnobUse};
use crate::{Profile, ReadbackComparison};

const PATH: &str = "/proc/sys/kernel/watchdog_cpumask";

pub(super) const KNOB: Knob = Knob {
    name: "watchdog_cpumask",
    files: &[PATH],
    what: "which CPUs the lockup detectors watch",
    isolation: "the housekeeping CPUs: no watchdog timer and no NMI on the others; nohz_full CPUs are out by default",
    since: "4.1",
    needs: "a kernel with CONFIG_LOCKUP_DETECTOR",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["nmi", "performance", "soft_hrtimer"],
    side_effects: "an isolated CPU that hangs is not reported; its tasks are still watched by khungtaskd",
    verify: "the file, and the row NMI of /proc/interrupts over time",
    peers: &["TuneD"],
    compare: ReadbackComparison::List,
    plan: |scene, plan| {
        let why = "the watchdog has a timer, and where it can an NMI, on every CPU that it watches";
        let file = MaskFile {
            knob: &KNOB,
            part: "",
            path: PATH,
            why,
        };
        narrow(scene, plan, &file)
    },
    ..Knob::PLAIN
};
