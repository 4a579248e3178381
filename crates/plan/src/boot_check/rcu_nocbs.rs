//! Checks `rcu_nocbs=` and `rcu_nocb_poll` by the message about offloaded CPUs and by the threads that run their callbacks.

use super::CheckAnswer;
use super::case::{ParameterCase, ParameterFamily};
use machine::CpuSet;

/// `rcu_nocbs=`
pub(super) const LIST: ParameterFamily = ParameterFamily {
    names: &["rcu_nocbs"],
    complaints: &["bad CPU range"],
    defeated_by: &[],
    acceptance: listed,
    works: threads,
};

/// `rcu_nocb_poll`
pub(super) const POLL: ParameterFamily = ParameterFamily {
    names: &["rcu_nocb_poll"],
    complaints: &[],
    defeated_by: &[],
    acceptance: polls,
    works: |_| CheckAnswer::unseen("no file or counter shows it"),
};

/// The kernel's message with the CPUs (`kernel/rcu/tree_nocb.h`, `rcu_init_nohz`).
const OFFLOADED: &str = "Offload RCU callbacks from CPUs: ";

fn listed(case: &ParameterCase) -> Option<CheckAnswer> {
    let requested = case.cpus()?;
    let message = case.message(OFFLOADED)?;
    let (_, list) = message.split_once(OFFLOADED)?;
    let list = list.trim_end_matches('.');
    let seen = match list {
        "(none)" => CpuSet::new(),
        list => CpuSet::parse_list(list).ok()?,
    };
    let missing = requested.minus(&seen);
    Some(match missing.is_empty() {
        true => CheckAnswer::yes(format!("the kernel said `{message}`")),
        false => CheckAnswer::no(format!(
            "the kernel said `{message}`, without CPU {missing}{}",
            case.why_missing(&missing)
        )),
    })
}

/// `rcuop/N`, `rcuos/N` or `rcuob/N`, one for each CPU whose callbacks are offloaded.
fn threads(case: &ParameterCase) -> CheckAnswer {
    let Some(requested) = case.cpus() else {
        return CheckAnswer::unknown("its list of CPUs cannot be parsed");
    };
    let Some(tasks) = case.evidence.machine.known_tasks() else {
        return CheckAnswer::unknown("the tasks of this machine could not be read");
    };
    let mut seen = CpuSet::new();
    for task in tasks.iter().filter(|task| task.is_kernel()) {
        let number = task.comm.strip_prefix("rcuo").and_then(|rest| rest.split_once('/'));
        if let Some(cpus) = number.and_then(|(_, number)| CpuSet::parse_list(number).ok()) {
            seen = seen.or(&cpus);
        }
    }
    let online = requested.and(&case.evidence.machine.topology.online);
    let missing = online.minus(&seen);
    match missing.is_empty() {
        true => CheckAnswer::yes(format!("threads rcuo?/N handle the callbacks of CPU {online}")),
        false => CheckAnswer::no(format!(
            "there is no thread rcuo?/N for CPU {missing}, so it handles its own callbacks"
        )),
    }
}

fn polls(case: &ParameterCase) -> Option<CheckAnswer> {
    let message = case.message("Poll for callbacks from no-CBs CPUs")?;
    Some(CheckAnswer::yes(format!("the kernel said `{message}`")))
}
