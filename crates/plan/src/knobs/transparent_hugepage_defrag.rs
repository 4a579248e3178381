//! Sets what makes room for a huge page, and when: the faulting program itself, a background thread, or nothing.

use super::value_file::{is_requested, set_text};
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile, ReadbackComparison};

const PATH: &str = "/sys/kernel/mm/transparent_hugepage/defrag";

pub(super) const KNOB: Knob = Knob {
    name: "transparent_hugepage_defrag",
    files: &[PATH],
    what: "whether a page fault compacts memory to get a huge page",
    isolation: "madvise, the default, or never: no page fault waits for compaction that did not ask for it",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
    usual: "madvise",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "huge pages are had less often",
    verify: "the word in brackets, and compact_stall in /proc/vmstat",
    peers: &["TuneD"],
    compare: ReadbackComparison::Choice,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let never = |now: &str| ReadbackComparison::Choice.same(now, "never");
    if !is_requested(scene, &KNOB) && scene.settings.get(PATH).is_some_and(never) {
        return Presence::Here;
    }
    let why = "making room for huge pages stalls programs or moves their pages";
    set_text(scene, plan, &KNOB, PATH, why)
}
