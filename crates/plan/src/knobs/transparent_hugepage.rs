//! Sets automatic huge pages (`mm/huge_memory.c`, `mm/khugepaged.c`): joining and splitting them flushes the TLB of
//! every CPU of the process.

use super::value_file::{is_requested, set_text};
use super::{Knob, KnobUse, KnobValueKind, Presence};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile, ReadbackComparison};

const PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) const KNOB: Knob = Knob {
    name: "transparent_hugepage",
    aliases: &["transparent_hugepage_enabled"],
    files: &[PATH],
    what: "whether pages are joined to huge ones",
    isolation: "never or madvise: no khugepaged, no splits and shootdowns, but for those who ask with madvise",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE (PREEMPT_RT had none before 6.0)",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&["always", "madvise", "never"]),
    usual: "madvise",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "programs with much memory that never asked for huge pages become slower; what is joined stays so; \
                   `never` makes the kernel compute vm.min_free_kbytes again, and undo does too, to a few kB (mm/khugepaged.c)",
    verify: "the word in brackets, and thp_split_page and thp_collapse_alloc in /proc/vmstat",
    peers: &["TuneD", "pyperf"],
    compare: ReadbackComparison::Choice,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let never = |now: &str| ReadbackComparison::Choice.same(now, "never");
    if !is_requested(scene, &KNOB) && scene.settings.get(PATH).is_some_and(never) {
        return Presence::Here;
    }
    let why = "joining and splitting huge pages interrupts every CPU that runs the process";
    set_text(scene, plan, &KNOB, PATH, why)
}
