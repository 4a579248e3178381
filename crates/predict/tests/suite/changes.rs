//! Tests which interruptions a change removes, and what is left.

use crate::support::{SECOND_NS, story, watch};
use blame::{BlameResult, Class, Confidence, CureContext, Interruption, InterruptionSubject};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};
use predict::{
    ChangeSelection, OtherCpus, Outcome, PredictedChange, Prediction, PredictionInput, ProposalKind, UntracedShares,
    WatchOrigin, predict, predict_partitions,
};

/// Ticks need the boot line, the watchdog's interrupt a knob or `nohz_full=`, the balancer a partition; firmware has no cure.
fn rows() -> Vec<Interruption> {
    vec![
        Interruption::new(Class::Tick, "tick_nohz_handler"),
        Interruption::new(Class::Nmi, "perf_event_nmi_handler"),
        Interruption::new(Class::SoftSched, "SCHED"),
        Interruption::new(Class::Firmware, "firmware"),
    ]
}

/// Ten seconds with a tick of 2 us every 4 ms, a balancer of 5 us in every second one, a watchdog of 20 us each second, and
/// one firmware call of 300 us with 50 us that nothing explains.
fn mixed() -> BlameResult {
    let mut stories = Vec::new();
    for tick in 0..2_500_u64 {
        let at = tick * 4_000_000;
        stories.push(match tick % 2 {
            0 => story(at, &[(2_000, Some(0))]),
            _ => story(at, &[(2_000, Some(0)), (5_000, Some(2))]),
        });
        if tick % 250 == 100 {
            stories.push(story(at + 1_000_000, &[(20_000, Some(1))]));
        }
        if tick == 1_000 {
            stories.push(story(at + 2_000_000, &[(300_000, Some(3)), (50_000, None)]));
        }
    }
    watch(10 * SECOND_NS, rows(), stories)
}

fn context() -> CureContext {
    CureContext {
        requested: CpuSet::range(3, 3),
        ..CureContext::default()
    }
}

fn input<'a>(answer: &'a BlameResult, context: &'a CureContext) -> PredictionInput<'a> {
    PredictionInput {
        answer,
        context,
        threshold_ns: 1_000,
        selection: ChangeSelection::Each,
        origin: WatchOrigin::Now,
        others: None,
        base_latency_ns: None,
        untraced: None,
    }
}

fn predicted(answer: &BlameResult, context: &CureContext, selection: ChangeSelection) -> Prediction {
    let input = PredictionInput {
        selection,
        ..input(answer, context)
    };
    predict(&input).unwrap()
}

#[test]
fn lower_ends_are_lower_by_what_the_trace_adds() {
    let (answer, context) = (mixed(), context());
    let traced = predict(&input(&answer, &context)).unwrap();
    let shares = UntracedShares {
        stolen: 0.8,
        gaps: 0.9,
        gaps_10us: 0.5,
    };
    let compared = PredictionInput {
        untraced: Some(shares),
        ..input(&answer, &context)
    };
    let compared = predict(&compared).unwrap();
    assert_eq!(compared.untraced, Some(shares));
    let lows = |outcome: &Outcome| (outcome.stolen_ns_per_s.low, outcome.gap_rates[0].per_s.low);
    // Per second: a fifth of 1.145 ms in gaps below 100 us, and a tenth of 251.1 gaps.
    let less = |outcome: &Outcome| {
        let (stolen, gaps) = lows(outcome);
        ((stolen - 229_000.0).max(0.0), (gaps - 25.11).max(0.0))
    };
    for (seen, lower) in [&traced.now, &of(&traced, "partition").outcome]
        .into_iter()
        .zip([&compared.now, &of(&compared, "partition").outcome])
    {
        let (expected, found) = (less(seen), lows(lower));
        assert!((found.0 - expected.0).abs() < 1.0, "{found:?} {expected:?}");
        assert!((found.1 - expected.1).abs() < 0.01, "{found:?} {expected:?}");
        assert!(lower.gap_rates[1].per_s.low < seen.gap_rates[1].per_s.low);
        assert_eq!(lower.gap_rates[3], seen.gap_rates[3]);
        assert_eq!(lower.stolen_ns_per_s.value, seen.stolen_ns_per_s.value);
    }
}

fn of<'a>(prediction: &'a Prediction, name: &str) -> &'a PredictedChange {
    let found = prediction.changes.iter().find(|change| change.change.name == name);
    found.unwrap_or_else(|| panic!("no change {name}: {:?}", names(prediction)))
}

fn names(prediction: &Prediction) -> Vec<&str> {
    prediction
        .changes
        .iter()
        .map(|change| change.change.name.as_str())
        .collect()
}

#[test]
fn each_change_removes_what_it_stops() {
    let prediction = predicted(&mixed(), &context(), ChangeSelection::Each);
    // 2,500 ticks of 2 us, 1,250 balancers of 5 us, 10 watchdogs of 20 us, 350 us once: 11.8 ms in 10 s.
    assert_eq!(prediction.now.stolen_ns_per_s.value, 1_180_000.0);
    assert_eq!(prediction.gaps, 2_511);
    for (name, removed_ns_per_s, gaps_per_s, longest_ns) in [
        ("all safe changes", 1_145_000.0, 0.1, 350_000),
        ("boot line", 1_145_000.0, 0.1, 350_000),
        ("partition", 625_000.0, 251.1, 350_000),
        ("watchdog_cpumask", 20_000.0, 250.1, 350_000),
    ] {
        let change = of(&prediction, name);
        assert_eq!(change.removed_ns_per_s.value, removed_ns_per_s, "{name}");
        assert_eq!(change.outcome.gap_rates[0].per_s.value, gaps_per_s, "{name}");
        assert_eq!(change.outcome.longest_ns, longest_ns, "{name}");
    }
    assert_eq!(prediction.changes[0].change.kind, ProposalKind::Everything);
    assert_eq!(prediction.unexplained_ns_per_s, 5_000.0);
    assert_eq!(prediction.remaining.len(), 1);
    assert_eq!(prediction.remaining[0].name, "firmware");
    assert_eq!(prediction.remaining[0].stolen_ns_per_s, 30_000.0);
}

#[test]
fn profiles_contain_the_knobs_that_they_set() {
    let prediction = predicted(&mixed(), &context(), ChangeSelection::Each);
    let removed = |name: &str| of(&prediction, name).removed_ns_per_s.value;
    assert_eq!(removed("profile minimal"), 625_000.0);
    assert_eq!(removed("profile balanced"), 645_000.0, "with watchdog_cpumask");
    assert_eq!(
        of(&prediction, "profile minimal").change.commands,
        ["quietcore apply --cpus 3 --profile minimal"]
    );
    assert_eq!(
        of(&prediction, "profile balanced").change.commands,
        ["quietcore apply --cpus 3"]
    );
    assert!(of(&prediction, "profile strict").change.costs.contains(&"power"));
    assert!(of(&prediction, "boot line").change.needs_reboot);
}

#[test]
fn an_active_partition_leaves_only_what_it_does_not_do_yet() {
    let active = Intent::new(PartitionName::default(), CpuSet::range(3, 3), Profile::Balanced);
    let context = CureContext {
        in_force: vec![active],
        ..context()
    };
    let prediction = predicted(&mixed(), &context, ChangeSelection::Each);
    assert_eq!(names(&prediction)[0], "all safe changes");
    assert!(
        !names(&prediction).contains(&"profile balanced"),
        "{:?}",
        names(&prediction)
    );
    assert_eq!(
        of(&prediction, "profile strict").change.commands,
        ["quietcore apply --resize --partition rt --cpus 3 --profile strict"]
    );
    assert_eq!(of(&prediction, "apply again").removed_ns_per_s.value, 625_000.0);
    assert!(
        prediction
            .remaining
            .iter()
            .any(|cause| cause.name.starts_with("perf_event"))
    );
}

#[test]
fn threads_of_a_recording_are_not_moved() {
    let mut preempting = Interruption::new(Class::Preemption, "make");
    preempting.subject = InterruptionSubject::Thread(4_711);
    let stories = (0..50_u64).map(|step| story(step * 100_000_000, &[(50_000, Some(0))]));
    let answer = watch(10 * SECOND_NS, vec![preempting], stories.collect());
    let context = CureContext {
        in_force: vec![Intent::new(
            PartitionName::default(),
            CpuSet::range(3, 3),
            Profile::Strict,
        )],
        ..context()
    };
    let now = predicted(&answer, &context, ChangeSelection::Each);
    assert_eq!(
        of(&now, "move thread 4711").change.commands,
        ["quietcore move --back --pid 4711"]
    );
    let input = PredictionInput {
        origin: WatchOrigin::Recording,
        ..input(&answer, &context)
    };
    let earlier = predict(&input).unwrap();
    assert!(
        names(&earlier).iter().all(|name| !name.starts_with("move")),
        "{:?}",
        names(&earlier)
    );
    assert_eq!(earlier.remaining[0].name, "make");
}

#[test]
fn the_same_change_of_two_partitions_has_a_command_for_each() {
    let cpu = |cpu| {
        let stories = (0..50_u64).map(|step| story(step * 100_000_000, &[(50_000, Some(0))]));
        let mut answer = watch(
            10 * SECOND_NS,
            vec![Interruption::new(Class::MachineCheck, "mce")],
            stories.collect(),
        );
        answer.cpus[0].cpu = cpu;
        answer.cpus.remove(0)
    };
    let active = |name: &str, cpu| {
        let name = PartitionName::new(name).unwrap();
        Intent::new(name, CpuSet::range(cpu, cpu), Profile::Balanced)
    };
    let context = CureContext {
        requested: CpuSet::range(2, 3),
        in_force: vec![active("a", 2), active("b", 3)],
        ..CureContext::default()
    };
    let answer = BlameResult {
        cpus: vec![cpu(2), cpu(3)],
    };
    let prediction = predicted(&answer, &context, ChangeSelection::Each);
    let commands = &of(&prediction, "check_interval").change.commands;
    assert_eq!(commands.len(), 2, "{commands:?}");
}

#[test]
fn a_selection_is_one_change() {
    let selection = ChangeSelection::Only {
        profile: Some(Profile::Minimal),
        boot: true,
    };
    let prediction = predicted(&mixed(), &context(), selection);
    assert_eq!(names(&prediction), ["profile minimal + boot line"]);
    let change = &prediction.changes[0];
    assert_eq!(change.removed_ns_per_s.value, 1_145_000.0);
    assert_eq!(
        change.change.commands,
        [
            "quietcore apply --cpus 3 --profile minimal",
            "quietcore boot set --cpus 3"
        ]
    );
    assert!(change.change.needs_reboot);
}

#[test]
fn a_boot_line_that_cannot_be_edited_is_predicted_too() {
    let context = CureContext {
        can_boot_set: Some(false),
        ..context()
    };
    let prediction = predicted(&mixed(), &context, ChangeSelection::Each);
    let boot = of(&prediction, "boot line");
    assert_eq!(boot.removed_ns_per_s.value, 1_145_000.0);
    assert_eq!(boot.change.commands, ["quietcore plan --cpus 3"]);
    let commands = &of(&prediction, "all safe changes").change.commands;
    assert_eq!(commands.last().map(String::as_str), Some("quietcore plan --cpus 3"));
}

#[test]
fn inferred_causes_widen_the_range_to_no_effect() {
    let mut answer = mixed();
    answer.cpus[0].interruptions[0].confidence = Confidence::Inferred;
    let prediction = predicted(&answer, &context(), ChangeSelection::Each);
    let boot = of(&prediction, "boot line");
    assert_eq!(boot.removed_ns_per_s.value, 1_145_000.0);
    assert!(
        (400_000.0..=645_000.0).contains(&boot.removed_ns_per_s.low),
        "only the balancer and the watchdog are certain: {boot:?}"
    );
    assert_eq!(boot.inferred_ns_per_s, 500_000.0);
    assert!(boot.outcome.stolen_ns_per_s.high >= 535_000.0);
    let all_inferred = of(&prediction, "watchdog_cpumask");
    assert!(
        all_inferred.removed_ns_per_s.low > 0.0,
        "another row does not matter: {all_inferred:?}"
    );
}

#[test]
fn rare_interruptions_need_a_longer_watch() {
    let answer = watch(
        10 * SECOND_NS,
        rows(),
        vec![
            story(SECOND_NS, &[(20_000, Some(1))]),
            story(6 * SECOND_NS, &[(20_000, Some(1))]),
        ],
    );
    let prediction = predicted(&answer, &context(), ChangeSelection::Each);
    let knob = of(&prediction, "watchdog_cpumask");
    assert_eq!(knob.needs_watch_ns, Some(60 * SECOND_NS));
    assert_eq!(
        knob.outcome.gap_rates[0].per_s.high, 0.3,
        "zero remaining gaps do not exclude later ones"
    );
    assert_eq!(knob.removed_ns_per_s.low, 0.0);
}

#[test]
fn without_gaps_nothing_is_removed_and_the_bound_is_the_time() {
    let prediction = predicted(
        &watch(30 * SECOND_NS, Vec::new(), Vec::new()),
        &context(),
        ChangeSelection::Each,
    );
    assert_eq!(prediction.now.gap_rates[0].per_s.high, 0.1);
    assert!(
        prediction
            .changes
            .iter()
            .all(|change| change.removed_ns_per_s.value == 0.0)
    );
}

#[test]
fn gaps_that_memory_did_not_hold_shorten_the_watch() {
    let mut answer = mixed();
    let cpu = &mut answer.cpus[0];
    cpu.stories.truncate(1_255);
    cpu.stories_left_out = cpu.gaps - 1_255;
    let prediction = predicted(&answer, &context(), ChangeSelection::Each);
    assert!(
        (4.9..5.1).contains(&(prediction.watched_ns as f64 / 1e9)),
        "{}",
        prediction.watched_ns
    );
    let rate = of(&prediction, "partition").outcome.gap_rates[0].per_s.value;
    assert!((250.0..252.0).contains(&rate), "{rate}");
}

/// A program has the CPU for half of the time, and the hypervisor takes a fifth of the rest. While the program runs, the
/// watch cannot see what the hypervisor takes from it.
#[test]
fn removed_time_exposes_unexplained_time() {
    let rows = vec![Interruption::new(Class::Preemption, "make")];
    let stories = (0..1_000_u64).flat_map(|step| {
        let at = step * 10_000_000;
        [
            story(at, &[(5_000_000, Some(0))]),
            story(at + 7_000_000, &[(1_000_000, None)]),
        ]
    });
    let answer = watch(10 * SECOND_NS, rows, stories.collect());
    let prediction = predicted(&answer, &context(), ChangeSelection::Each);
    assert_eq!(prediction.now.stolen_ns_per_s.value, 600_000_000.0);
    let partition = of(&prediction, "partition");
    assert_eq!(partition.outcome.stolen_ns_per_s.value, 200_000_000.0);
    assert_eq!(partition.outcome.gap_rates[0].per_s.value, 200.0);
    assert_eq!(partition.moved_ns_per_s, 500_000_000.0);
    assert_eq!(partition.others_busy_share, None);
    let context = context();
    let busy = |busy_share| {
        let input = PredictionInput {
            others: Some(OtherCpus { count: 4, busy_share }),
            ..input(&answer, &context)
        };
        let prediction = predict(&input).unwrap();
        of(&prediction, "partition").others_busy_share
    };
    // Half a CPU moves to four CPUs.
    assert_eq!([busy(0.25), busy(0.95)], [Some(0.375), Some(1.0)]);
}

#[test]
fn time_removed_on_one_cpu_exposes_nothing_on_another() {
    let program = (0..1_000_u64).map(|step| story(step * 10_000_000, &[(5_000_000, Some(0))]));
    let mut both = watch(
        10 * SECOND_NS,
        vec![Interruption::new(Class::Preemption, "make")],
        program.collect(),
    );
    let outside = (0..1_000_u64).map(|step| story(step * 10_000_000, &[(1_000_000, None)]));
    let mut other = watch(10 * SECOND_NS, Vec::new(), outside.collect()).cpus.remove(0);
    other.cpu = 2;
    both.cpus.insert(0, other);
    let context = CureContext {
        requested: CpuSet::range(2, 3),
        ..CureContext::default()
    };
    let prediction = predicted(&both, &context, ChangeSelection::Each);
    // Per CPU: half of a tenth of the time.
    assert_eq!(of(&prediction, "partition").outcome.stolen_ns_per_s.value, 50_000_000.0);
    assert_eq!(prediction.now.stolen_ns_per_s.value, 300_000_000.0);
}

#[test]
fn partitions_remove_what_their_knobs_stop() {
    let answer = mixed();
    let context = context();
    let input = input(&answer, &context);
    let bare = Intent::new(PartitionName::default(), CpuSet::new(), Profile::Minimal);
    let mut with_knob = bare.clone();
    with_knob.take("watchdog_cpumask").unwrap();
    let mut without = Intent::new(PartitionName::default(), CpuSet::new(), Profile::Balanced);
    without.leave_out("watchdog_cpumask").unwrap();
    let outcomes = predict_partitions(&input, &[bare, with_knob, without]).unwrap();
    let stolen: Vec<f64> = outcomes
        .partitions
        .iter()
        .map(|outcome| outcome.stolen_ns_per_s.value)
        .collect();
    // 1,180,000 without 625,000 of the balancer, and without 20,000 of the watchdog.
    assert_eq!(stolen, [555_000.0, 535_000.0, 555_000.0]);
}

#[test]
fn without_nohz_full_the_boot_line_leaves_the_watchdog() {
    let context = CureContext {
        can_stop_ticks: Some(false),
        ..context()
    };
    let prediction = predicted(&mixed(), &context, ChangeSelection::Each);
    // The balancer goes; the tick and the watchdog stay.
    assert_eq!(of(&prediction, "boot line").removed_ns_per_s.value, 625_000.0);
}
