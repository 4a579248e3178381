//! Checks `workqueue.unbound_cpus=` by `/sys/devices/virtual/workqueue/cpumask`.

use super::Answer;
use super::case::{Case, Family};

pub(super) const FAMILY: Family = Family {
    names: &["workqueue.unbound_cpus"],
    complaints: &["workqueue.unbound_cpus"],
    defeated_by: &["workqueue-on-isolated"],
    understood: |_| None,
    works,
};

fn works(case: &Case) -> Answer {
    let Some(asked) = case.cpus() else {
        return Answer::unknown("its list of CPUs cannot be understood");
    };
    let Some(seen) = &case.evidence.machine.isolation.workqueue_cpumask else {
        return Answer::unknown("/sys/devices/virtual/workqueue/cpumask could not be read");
    };
    let text = format!("/sys/devices/virtual/workqueue/cpumask has CPU {seen}");
    match seen.is_subset(&asked) {
        true => Answer::yes(text),
        false => Answer::no(format!(
            "{text}, and not {asked}: a program wrote it since the boot, or the kernel never took it"
        )),
    }
}
