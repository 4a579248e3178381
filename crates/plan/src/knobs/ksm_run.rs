//! Sets the merging of equal pages (`mm/ksm.c`): a thread compares pages, and each write to a merged page causes a fault.

use super::value_file::set_text;
use super::{Knob, KnobUse, Presence};
use crate::parameters::ParameterCost;
use crate::{Plan, PlanContext, Profile};

const PATH: &str = "/sys/kernel/mm/ksm/run";

pub(super) const KNOB: Knob = Knob {
    name: "ksm_run",
    files: &[PATH],
    what: "merging of equal pages",
    isolation: "0: no ksmd, and no further page becomes a merged one that faults when it is written",
    needs: "a kernel with CONFIG_KSM",
    usage: KnobUse::From(Profile::Strict),
    usual: "0",
    price: ParameterCost::Speed,
    stops: &["tlb_shootdown"],
    side_effects: "virtual machines and containers take more memory; pages that are merged stay so",
    verify: "the file, and full_scans beside it does not change",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    // 2 means stopped and all merged pages split, which is even quieter.
    if scene.settings.get(PATH) == Some("2") {
        return Presence::Here;
    }
    set_text(
        scene,
        plan,
        &KNOB,
        PATH,
        "merging write-protects pages, and every write to a merged one faults",
    )
}
