//! Sets whether compaction may move locked memory: `mlockall` guarantees that pages stay in memory, not that they stay
//! in place.

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;

const PATH: &str = "/proc/sys/vm/compact_unevictable_allowed";

pub(super) const KNOB: Knob = Knob {
    name: "compact_unevictable_allowed",
    files: &[PATH],
    usage: KnobUse::From(Profile::Balanced),
    what: "whether locked memory may be moved too",
    isolation: "0: locked pages of a real-time program stay; PREEMPT_RT sets it",
    needs: "a kernel with CONFIG_COMPACTION",
    usual: "0",
    stops: &["tlb_shootdown"],
    side_effects: "memory around locked pages stays fragmented",
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "a page that moves faults, also one that its program has locked";
