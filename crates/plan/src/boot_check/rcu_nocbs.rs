//! Checks `rcu_nocbs=` and `rcu_nocb_poll` by the message about offloaded CPUs and by the threads that run their callbacks.

use super::case::{Case, Family};
use super::{Answer, Truth};
use machine::CpuSet;

/// `rcu_nocbs=`
pub(super) const LIST: Family = Family {
    names: &["rcu_nocbs"],
    complaints: &["bad CPU range"],
    defeated_by: &[],
    understood: listed,
    works: threads,
};

/// `rcu_nocb_poll`
pub(super) const POLL: Family = Family {
    names: &["rcu_nocb_poll"],
    complaints: &[],
    defeated_by: &[],
    understood: polls,
    works: |_| Answer::new(Truth::Unseen, "no file and no counter shows it"),
};

/// The kernel's message with the CPUs (`kernel/rcu/tree_nocb.h`, `rcu_init_nohz`).
const OFFLOADED: &str = "Offload RCU callbacks from CPUs: ";

fn listed(case: &Case) -> Option<Answer> {
    let asked = case.cpus()?;
    let said = case.message(OFFLOADED)?;
    let (_, list) = said.split_once(OFFLOADED)?;
    let list = list.trim_end_matches('.');
    let seen = match list {
        "(none)" => CpuSet::new(),
        list => CpuSet::parse_list(list).ok()?,
    };
    let missing = asked.minus(&seen);
    Some(match missing.is_empty() {
        true => Answer::yes(format!("the kernel said `{said}`")),
        false => Answer::no(format!(
            "the kernel said `{said}`, without CPU {missing}{}",
            case.why_missing(&missing)
        )),
    })
}

/// `rcuop/N`, `rcuos/N` or `rcuob/N`, one for each CPU whose callbacks are offloaded.
fn threads(case: &Case) -> Answer {
    let Some(asked) = case.cpus() else {
        return Answer::unknown("its list of CPUs cannot be understood");
    };
    let Some(tasks) = case.evidence.machine.known_tasks() else {
        return Answer::unknown("the tasks of this machine could not be read");
    };
    let mut seen = CpuSet::new();
    for task in tasks.iter().filter(|task| task.is_kernel()) {
        let number = task
            .comm
            .strip_prefix("rcuo")
            .and_then(|rest| rest.split_once('/'));
        if let Some(cpus) = number.and_then(|(_, number)| CpuSet::parse_list(number).ok()) {
            seen = seen.or(&cpus);
        }
    }
    let asked = asked.and(&case.evidence.machine.topology.online);
    let missing = asked.minus(&seen);
    match missing.is_empty() {
        true => Answer::yes(format!("threads rcuo?/N take the callbacks of CPU {asked}")),
        false => Answer::no(format!(
            "there is no thread rcuo?/N for CPU {missing}, so it keeps its callbacks"
        )),
    }
}

fn polls(case: &Case) -> Option<Answer> {
    let said = case.message("Poll for callbacks from no-CBs CPUs")?;
    Some(Answer::yes(format!("the kernel said `{said}`")))
}
