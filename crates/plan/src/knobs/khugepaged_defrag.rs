//! Sets whether khugepaged may compact memory to make room for a huge page (`mm/khugepaged.c`,
//! `alloc_hugepage_khugepaged_gfpmask`).

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;
use crate::parameters::ParameterCost;

const PATH: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag";

pub(super) const KNOB: Knob = Knob {
    name: "khugepaged_defrag",
    files: &[PATH],
    what: "whether khugepaged compacts memory to find room for a huge page",
    isolation: "0: khugepaged takes what is free and moves no pages of programs",
    needs: "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
    usage: KnobUse::From(Profile::Strict),
    usual: "0",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "huge pages are had less often",
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, "compaction moves pages of any process"),
    ..Knob::PLAIN
};
