//! Sets automatic huge pages (`mm/huge_memory.c`, `mm/khugepaged.c`): joining and splitting them flushes the TLB of
//! every CPU of the process.

use super::value_file::{is_asked, set_text};
use super::{Knob, Presence, Taken, Takes};
use crate::parameters::Price;
use crate::{Compare, Plan, Profile, Scene};

const PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) const KNOB: Knob = Knob {
    name: "transparent_hugepage",
    aliases: &["transparent_hugepage_enabled"],
    files: &[PATH],
    what: "whether pages are joined to huge ones",
    isolation: "never or madvise: no khugepaged, no splits and shootdowns, but for those who ask with madvise",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE (PREEMPT_RT had none before 6.0)",
    taken: Taken::From(Profile::Strict),
    takes: Takes::Words(&["always", "madvise", "never"]),
    usual: "madvise",
    price: Price::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "programs with much memory that never asked for huge pages become slower; what is joined stays so; \
                   `never` makes the kernel compute vm.min_free_kbytes again, and undo does too, to a few kB (mm/khugepaged.c)",
    verify: "the word in brackets, and thp_split_page and thp_collapse_alloc in /proc/vmstat",
    peers: &["TuneD", "pyperf"],
    compare: Compare::Choice,
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &Scene, plan: &mut Plan) -> Presence {
    let never = |now: &str| Compare::Choice.same(now, "never");
    if !is_asked(scene, &KNOB) && scene.settings.get(PATH).is_some_and(never) {
        return Presence::Here;
    }
    let why = "joining and splitting huge pages interrupts every CPU that runs the process";
    set_text(scene, plan, &KNOB, PATH, why)
}
