//! Stops RCU from expediting every grace period: an expedited one interrupts every CPU in kernel mode
//! (`kernel/rcu/tree_exp.h`, `sync_rcu_exp_select_cpus`).

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;

const PATH: &str = "/sys/kernel/rcu_expedited";

pub(super) const KNOB: Knob = Knob {
    name: "rcu_expedited",
    files: &[PATH],
    usage: KnobUse::From(Profile::Balanced),
    what: "makes every RCU grace period an expedited one",
    isolation: "0: 1 would interrupt CPUs that are in the kernel",
    usual: "0",
    stops: &["function_call"],
    side_effects: "waiting for grace periods takes as long as usual",
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "expedited grace periods send interrupts to CPUs that are in the kernel";
