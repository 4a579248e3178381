//! Makes callers that request an expedited grace period get a normal one: the reverse of `rcu_expedited`.

use super::value_file::set_text;
use super::{Knob, KnobUse};
use crate::Profile;
use crate::parameters::ParameterCost;

const PATH: &str = "/sys/kernel/rcu_normal";

pub(super) const KNOB: Knob = Knob {
    name: "rcu_normal",
    files: &[PATH],
    usage: KnobUse::From(Profile::Strict),
    price: ParameterCost::Speed,
    what: "makes expedited RCU grace periods ordinary ones",
    isolation: "1: fewer IPIs to busy CPUs; PREEMPT_RT sets it after boot",
    usual: "1",
    stops: &["function_call"],
    side_effects: "a process that waits for a grace period waits longer: network and cgroup set-up, module unloading",
    peers: &["TuneD"],
    plan: |scene, plan| set_text(scene, plan, &KNOB, PATH, WHY),
    ..Knob::PLAIN
};

const WHY: &str = "ordinary grace periods wait for CPUs instead of interrupting them";
