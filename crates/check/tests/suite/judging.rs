//! Ignored findings, and tasks that are not reported.

use crate::support::bench::{bench, counted, three};
use check::{
    CheckEvidence, CheckFinding, CheckVerdict, Intention, IntentionSource, IsolationMeans, ObservedActivity, judge,
};
use plan::Level;

#[test]
fn unused_ignore_rules_are_reported() {
    let bench = bench();
    let evidence = CheckEvidence {
        machine: &bench.machine,
        counters: &bench.counters,
        boot: None,
    };
    let intention = Intention {
        source: IntentionSource::Journal,
        isolations: vec![bench.isolation.clone()],
        unseen: Vec::new(),
    };
    let found = vec![CheckFinding::new(Level::Error, plan::FindingId::IRQ_HERE, "1", "it is")];
    let ignore = ["irq-here:1", "irq-here:99", "task-here"].map(str::to_owned);
    let judged = judge(&evidence, &intention, found, &ignore, Level::Error);
    assert_eq!(judged.unused, ["irq-here:99"]);
}

#[test]
fn exiting_tasks_are_not_reported() {
    for (state, flags) in [('Z', 0), ('X', 0), ('R', machine::Task::PF_EXITING)] {
        let mut bench = bench();
        let task = bench.task(true);
        task.allowed = three();
        task.state = state;
        task.flags |= flags;
        let (found, verdict) = bench.judge();
        assert!(
            !found.iter().any(|one| one.finding.id.as_str() == "task-here"),
            "{state} {flags}"
        );
        assert_eq!(verdict, CheckVerdict::Quiet, "{state} {flags}");
    }
}

#[test]
fn the_fix_for_the_tick_depends_on_the_kernel_configuration() {
    let fix = |config: Option<&[(&str, &str)]>| {
        let mut bench = bench();
        bench.machine.kernel.config = config.map(|all| {
            let all = all.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
            std::sync::Arc::new(all.collect())
        });
        let mut activity = counted(&[]);
        activity.cpus[0].ticks = Some(100);
        bench.counters = ObservedActivity::Seen(activity);
        let (found, _) = bench.judge();
        let tick = found.into_iter().find(|one| one.finding.id.as_str() == "tick").unwrap();
        tick.finding.fix
    };
    assert!(fix(Some(&[])).contains("ignores nohz_full="), "{}", fix(Some(&[])));
    let built_in = fix(Some(&[("CONFIG_NO_HZ_FULL", "y")]));
    assert!(
        built_in.contains("nohz_full=3") && built_in.ends_with("tick of the scheduler"),
        "{built_in}"
    );
    assert!(fix(None).contains("this needs CONFIG_NO_HZ_FULL"), "{}", fix(None));
}

#[test]
fn a_refused_plan_is_reported_with_its_reason_and_its_next_step() {
    let mut bench = bench();
    bench.isolation.intent.cpus = machine::CpuSet::range(0, 0);
    let (found, verdict) = bench.judge();
    let refused = found
        .iter()
        .find(|one| one.finding.id.as_str() == "plan-refused")
        .unwrap();
    let message = &refused.finding.message;
    assert!(
        message.contains("CPU 0 cannot be isolated: it is the lowest online CPU"),
        "{message}"
    );
    assert!(!message.contains("next:"), "{message}");
    assert_eq!(refused.finding.fix, "choose from CPU 1-3");
    bench.isolation.means = IsolationMeans::Nothing;
    let (found, _) = bench.judge();
    let impossible = found.iter().filter(|one| one.finding.fix.contains("quietcore apply"));
    assert_eq!(impossible.count(), 0, "no advice to apply what is refused: {found:#?}");
    assert_ne!(verdict, CheckVerdict::Quiet);
}
