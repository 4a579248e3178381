//! Sets when the kernel joins pages to huge ones and makes room for them.

use super::{Knob, KnobUse, KnobValueKind};
use crate::parameters::ParameterCost;
use crate::{Profile, ReadbackComparison};

/// Sets automatic huge pages (`mm/huge_memory.c`, `mm/khugepaged.c`): joining and splitting them flushes the TLB of
/// every CPU of the process.
pub(super) const TRANSPARENT_HUGEPAGE: Knob = Knob {
    name: "transparent_hugepage",
    aliases: &["transparent_hugepage_enabled"],
    files: &["/sys/kernel/mm/transparent_hugepage/enabled"],
    what: "whether the kernel joins pages to huge pages",
    why: "joining and splitting huge pages interrupts every CPU that runs the process",
    isolation: "never or madvise: no khugepaged, no splits and shootdowns, except for programs that request huge pages",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE (PREEMPT_RT had none before 6.0)",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&["always", "madvise", "never"]),
    usual: "madvise",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "programs with much memory that never requested huge pages become slower; joined pages stay joined; \
         `never` makes the kernel recompute vm.min_free_kbytes, and undo does too, to a few kB (mm/khugepaged.c)",
    verify: "the word in brackets, and thp_split_page and thp_collapse_alloc in /proc/vmstat",
    peers: &["TuneD", "pyperf"],
    compare: ReadbackComparison::Choice,
    enough: is_never,
    ..Knob::PLAIN
};

/// Sets what makes room for a huge page, and when: the faulting program itself, a background thread, or nothing.
pub(super) const TRANSPARENT_HUGEPAGE_DEFRAG: Knob = Knob {
    name: "transparent_hugepage_defrag",
    files: &["/sys/kernel/mm/transparent_hugepage/defrag"],
    what: "whether a page fault compacts memory to get a huge page",
    why: "creating huge pages stalls programs or moves their pages",
    isolation: "madvise, the default, or never: a page fault compacts memory only if the program requested it",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
    usage: KnobUse::From(Profile::Strict),
    takes: KnobValueKind::Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
    usual: "madvise",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "huge pages are less often available",
    verify: "the word in brackets, and compact_stall in /proc/vmstat",
    peers: &["TuneD"],
    compare: ReadbackComparison::Choice,
    enough: is_never,
    ..Knob::PLAIN
};

/// Sets whether khugepaged may compact memory to make room for a huge page (`mm/khugepaged.c`,
/// `alloc_hugepage_khugepaged_gfpmask`).
pub(super) const KHUGEPAGED_DEFRAG: Knob = Knob {
    name: "khugepaged_defrag",
    files: &["/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"],
    what: "whether khugepaged compacts memory to create huge pages",
    why: "compaction moves pages of any process",
    isolation: "0: khugepaged uses free memory and moves no pages of programs",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
    usage: KnobUse::From(Profile::Strict),
    usual: "0",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "huge pages are less often available",
    ..Knob::PLAIN
};

/// `never` is stricter than the usual `madvise`.
fn is_never(now: &str) -> bool {
    ReadbackComparison::Choice.same(now, "never")
}
