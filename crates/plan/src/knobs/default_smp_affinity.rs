//! Sets the CPUs of interrupts that are requested later.

use super::knob_file::narrow_known;
use super::{Knob, KnobUse};
use crate::{Profile, ReadbackComparison};

pub(super) const KNOB: Knob = Knob {
    name: "default_smp_affinity",
    what: "the initial mask of newly requested interrupts; the run-time equivalent of irqaffinity=",
    files: &["/proc/irq/default_smp_affinity"],
    since: "2.6.19",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["device"],
    side_effects: "none",
    verify: "the file; drivers that set their own affinity and managed interrupts ignore it",
    peers: &["partrt", "tuna", "TuneD", "pyperf"],
    compare: ReadbackComparison::Mask,
    why: "interrupts requested from now on start on housekeeping CPUs",
    plan: |knob, scene, plan| {
        let now = scene.machine.isolation.default_smp_affinity.as_ref();
        narrow_known(knob, now, scene, plan)
    },
    ..Knob::PLAIN
};
