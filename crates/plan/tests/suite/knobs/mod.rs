//! Every knob on small generated machines: its changes, what it leaves alone, and its findings.

mod cases;
mod naming;
mod neighbours;
mod offline;
mod scene;

use cases::{CASES, spelled};
use plan::{Action, KNOBS, Level, Plan, Profile, knobs};
use scene::{KnobMachine, ids, plan_of};
use std::collections::BTreeSet;

/// Knobs whose changes depend on tasks, interrupts or cgroups. They have their own tests, here and at level 3.
const ELSEWHERE: [&str; 13] = [
    "cpu_cycle",
    "systemd_slice",
    "owner",
    "owner_ancestor",
    "threaded",
    "foreign_cpusets",
    "cpuset_partition",
    "task_placement",
    "workqueue_cpumask",
    "default_smp_affinity",
    "irq_affinity",
    "irqbalance",
    "net_channels",
];

fn values<'a>(plan: &'a Plan, knob: &str) -> Vec<(&'a str, &'a str)> {
    let own = plan.changes.iter().filter_map(|change| {
        let part = change.id.strip_prefix(knob)?;
        let part = if part.is_empty() { part } else { part.strip_prefix('/')? };
        let Action::Write { value, .. } = &change.action else {
            return None;
        };
        Some((part, value.as_str()))
    });
    own.collect()
}

#[test]
fn each_knob_makes_exactly_the_expected_changes() {
    let mut requested = BTreeSet::from(ELSEWHERE);
    for one in CASES {
        let files: Vec<(String, &str)> = one.files.iter().map(|(path, value)| (spelled(path), *value)).collect();
        let made = KnobMachine::new(&files);
        let with = match one.with {
            "" => None,
            "+" => Some(one.knob.to_owned()),
            value => Some(format!("{}{value}", one.knob)),
        };
        let plan = plan_of(&made, Profile::Strict, &with.into_iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            values(&plan, one.knob),
            one.expected,
            "{} {} {:?}",
            one.knob,
            one.with,
            one.files
        );
        requested.insert(one.knob);
        for change in plan.changes.iter().filter(|change| change.knob() == one.knob) {
            assert!(
                knobs::knob(one.knob).unwrap().has_file(&change.target),
                "{} does not declare {}: `explain` and `diff` do not know it",
                one.knob,
                change.target
            );
        }
        // The next plan finds the planned values in place.
        let after: Vec<(String, &str)> = plan
            .changes
            .iter()
            .filter_map(|change| match &change.action {
                Action::Write { path, value, .. } => Some((path.clone(), value.as_str())),
                _ => None,
            })
            .collect();
        let again = KnobMachine::new(&[files.clone(), after].concat());
        let names: Vec<String> = if one.with.is_empty() {
            Vec::new()
        } else {
            vec![one.knob.to_owned() + one.with.trim_matches('+')]
        };
        let again = plan_of(&again, Profile::Strict, &names).unwrap();
        let offline = one.knob == "cpu_offline";
        assert!(
            offline || values(&again, one.knob).is_empty(),
            "{} {} plans twice",
            one.knob,
            one.with
        );
    }
    let all: BTreeSet<&str> = KNOBS.iter().map(|knob| knob.name).collect();
    let without: Vec<_> = all.symmetric_difference(&requested).collect();
    assert!(
        without.is_empty(),
        "knobs without a case, or cases without a knob: {without:?}"
    );
}

#[test]
fn an_explicitly_requested_knob_that_is_absent_is_reported() {
    let made = KnobMachine::new(&[]);
    let quiet = plan_of(&made, Profile::Strict, &[]).unwrap();
    assert!(!ids(&quiet).contains(&"knob-absent"), "{:?}", quiet.findings);
    for knob in KNOBS.iter().filter(|knob| knob.usage == plan::KnobUse::ByName) {
        let plan = plan_of(&made, Profile::Minimal, &[knob.name.to_owned()]).unwrap();
        let message = plan
            .findings
            .iter()
            .find(|finding| finding.id.as_str() == "knob-absent");
        let message = message.unwrap_or_else(|| panic!("{}: no message", knob.name));
        assert_eq!((message.subject.as_str(), message.level), (knob.name, Level::Warning));
        assert!(!message.fix.is_empty());
    }
}

#[test]
fn profiles_include_the_lower_ones_and_no_knob_that_costs_safety() {
    let made = KnobMachine::new(&[]);
    let taken = |profile| -> BTreeSet<&str> {
        plan_of(&made, profile, &[])
            .unwrap()
            .knobs
            .iter()
            .map(|knob| knob.name)
            .collect()
    };
    let (minimal, balanced, strict) = (
        taken(Profile::Minimal),
        taken(Profile::Balanced),
        taken(Profile::Strict),
    );
    assert!(minimal.is_subset(&balanced) && balanced.is_subset(&strict));
    assert!(minimal.len() < balanced.len() && balanced.len() < strict.len());
    for never in [
        "watchdog",
        "nmi_watchdog",
        "check_interval",
        "sched_rt_runtime_us",
        "fair_server",
        "ext_server",
        "cpu_offline",
        "cpu_cycle",
    ] {
        assert!(!strict.contains(never), "{never}");
    }
}
