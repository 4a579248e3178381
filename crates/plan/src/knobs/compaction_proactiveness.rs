//! Sets proactive compaction (`mm/compaction.c`, `kcompactd`): pages of any process are moved, and every CPU that runs
//! one of its threads must flush the old translation.

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;

const PATH: &str = "/proc/sys/vm/compaction_proactiveness";

pub(super) const KNOB: Knob = Knob {
    name: "compaction_proactiveness",
    files: &[PATH],
    usage: KnobUse::From(Profile::Balanced),
    what: "how eagerly memory is moved together before anybody asks for it",
    isolation: "0: no page moves without need",
    since: "5.9",
    needs: "a kernel with CONFIG_COMPACTION",
    usual: "0",
    stops: &["tlb_shootdown"],
    side_effects: "huge pages are found less often; a program that needs one compacts then",
    verify: "the file, and compact_daemon_wake in /proc/vmstat",
    peers: &["TuneD"],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "pages that kcompactd moves are shot down on every CPU that may hold them";
