//! Sets the CPUs of interrupts that are requested later.

use super::mask_file::{MaskFile, without_isolated};
use super::{Knob, KnobUse, Presence};
use crate::{Plan, PlanContext, Profile, ReadbackComparison};

const PATH: &str = "/proc/irq/default_smp_affinity";

pub(super) const KNOB: Knob = Knob {
    name: "default_smp_affinity",
    what: "the mask that a newly requested interrupt starts with; the run-time twin of irqaffinity=",
    files: &[PATH],
    since: "2.6.19",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["device"],
    side_effects: "none",
    verify: "the file; drivers that set their own affinity and managed interrupts ignore it",
    peers: &["partrt", "tuna", "TuneD", "pyperf"],
    compare: ReadbackComparison::Mask,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    // The file accepts masks only, no lists (kernel/irq/proc.c, default_affinity_write).
    let file = MaskFile {
        knob: &KNOB,
        part: "",
        path: PATH,
        why: "interrupts requested from now on start on housekeeping CPUs",
    };
    let now = scene.machine.isolation.default_smp_affinity.as_ref();
    plan.changes.extend(without_isolated(scene, now, &file));
    now.map_or(Presence::Absent, |_| Presence::Here)
}
