//! Sets whether RCU grace periods interrupt busy CPUs (`kernel/rcu/tree_exp.h`).

use super::{Knob, KnobUse};
use crate::Profile;
use crate::parameters::ParameterCost;

/// Stops RCU from expediting every grace period: an expedited one interrupts every CPU in kernel mode
/// (`kernel/rcu/tree_exp.h`, `sync_rcu_exp_select_cpus`).
pub(super) const RCU_EXPEDITED: Knob = Knob {
    name: "rcu_expedited",
    files: &["/sys/kernel/rcu_expedited"],
    usage: KnobUse::From(Profile::Balanced),
    what: "makes every RCU grace period expedited",
    why: "expedited grace periods send interrupts to CPUs that are in the kernel",
    isolation: "0: 1 would interrupt CPUs that are in the kernel",
    usual: "0",
    stops: &["function_call"],
    side_effects: "waiting for a grace period takes the usual time",
    ..Knob::PLAIN
};

/// Makes callers that request an expedited grace period get a normal one: the reverse of `rcu_expedited`.
pub(super) const RCU_NORMAL: Knob = Knob {
    name: "rcu_normal",
    files: &["/sys/kernel/rcu_normal"],
    usage: KnobUse::From(Profile::Strict),
    price: ParameterCost::Speed,
    what: "makes expedited RCU grace periods ordinary ones",
    why: "ordinary grace periods wait for CPUs instead of interrupting them",
    isolation: "1: fewer IPIs to busy CPUs; PREEMPT_RT sets it after boot",
    usual: "1",
    stops: &["function_call"],
    side_effects: "processes wait longer for grace periods: network and cgroup set-up, module unloading",
    peers: &["TuneD"],
    ..Knob::PLAIN
};
