//! Checks `workqueue.unbound_cpus=` by `/sys/devices/virtual/workqueue/cpumask`.

use super::CheckAnswer;
use super::case::{ParameterCase, ParameterFamily};

pub(super) const FAMILY: ParameterFamily = ParameterFamily {
    names: &["workqueue.unbound_cpus"],
    complaints: &["workqueue.unbound_cpus"],
    defeated_by: &["workqueue-on-isolated"],
    acceptance: |_| None,
    works,
};

fn works(case: &ParameterCase) -> CheckAnswer {
    let Some(requested) = case.cpus() else {
        return CheckAnswer::unknown("its list of CPUs cannot be parsed");
    };
    let Some(seen) = &case.evidence.machine.isolation.workqueue_cpumask else {
        return CheckAnswer::unknown("/sys/devices/virtual/workqueue/cpumask could not be read");
    };
    let text = format!("/sys/devices/virtual/workqueue/cpumask has CPU {seen}");
    match seen.is_subset(&requested) {
        true => CheckAnswer::yes(text),
        false => CheckAnswer::no(format!(
            "{text}, and not {requested}: another program changed it after the boot, or the kernel never accepted it"
        )),
    }
}
