//! The screen of `predict`.

use machine::{CpuId, CpuSet};
use predict::{
    Estimate, GapQuantile, Outcome, PredictedChange, Prediction, ProposalKind, ProposedChange, RemainingCause,
    SizeRate, WakeUpDelay,
};
use report::{Style, prediction_text, prediction_verdict};

fn outcome(stolen_ns_per_s: f64, gaps: f64, longest_ns: u64) -> Outcome {
    Outcome {
        stolen_ns_per_s: Estimate {
            value: stolen_ns_per_s,
            low: stolen_ns_per_s * 0.9,
            high: stolen_ns_per_s * 1.2,
        },
        gap_rates: vec![SizeRate {
            from_ns: 0,
            per_s: Estimate {
                value: gaps,
                low: gaps,
                high: gaps,
            },
        }],
        longest_ns,
        quantiles: vec![GapQuantile {
            share: 0.5,
            ns: longest_ns / 4,
        }],
        delays: [(0.99, 0), (0.999, longest_ns / 10), (0.9999, longest_ns / 2)]
            .map(|(share, ns)| WakeUpDelay { share, ns })
            .to_vec(),
    }
}

fn change(kind: ProposalKind, name: &str, commands: &[&str], removed: f64, outcome: Outcome) -> PredictedChange {
    PredictedChange {
        change: ProposedChange {
            kind,
            name: name.to_owned(),
            commands: commands.iter().map(|&command| command.to_owned()).collect(),
            needs_reboot: kind == ProposalKind::Boot,
            costs: Vec::new(),
            excluded: Vec::new(),
        },
        removed_ns_per_s: Estimate {
            value: removed,
            low: 0.0,
            high: removed,
        },
        moved_ns_per_s: 0.0,
        inferred_ns_per_s: 0.0,
        outcome,
        needs_watch_ns: None,
    }
}

fn prediction() -> Prediction {
    let apply = "quietcore apply --cpus 3 --with stat_interval";
    let boot = "quietcore boot set --cpus 3";
    let mut all = change(
        ProposalKind::Everything,
        "all safe changes",
        &[apply, boot],
        1_100_000.0,
        outcome(80_000.0, 0.5, 9_000),
    );
    all.change.needs_reboot = true;
    all.change.excluded = vec!["cpu_cycle".to_owned()];
    all.moved_ns_per_s = 12_000.0;
    let mut boot = change(
        ProposalKind::Boot,
        "boot line",
        &[boot],
        1_000_000.0,
        outcome(180_000.0, 3.0, 40_000),
    );
    boot.change.costs = vec!["speed"];
    let mut knob = change(
        ProposalKind::Knob,
        "stat_interval",
        &[apply],
        100_000.0,
        outcome(1_080_000.0, 250.0, 350_000),
    );
    knob.needs_watch_ns = Some(100_000_000_000);
    Prediction {
        cpus: [CpuId(3)].into_iter().collect::<CpuSet>(),
        watched_ns: 30_000_000_000,
        gaps: 7_530,
        lost_events: 0,
        unlisted_gaps: 0,
        now: outcome(1_180_000.0, 251.0, 350_000),
        changes: vec![
            all,
            boot,
            knob,
            change(
                ProposalKind::Profile,
                "profile minimal",
                &[],
                0.0,
                outcome(1_180_000.0, 251.0, 350_000),
            ),
        ],
        remaining: vec![RemainingCause {
            name: "firmware".to_owned(),
            stolen_ns_per_s: 30_000.0,
            why: "no cure is known".to_owned(),
        }],
        unexplained_ns_per_s: 5_000.0,
    }
}

#[test]
fn changes_are_listed_best_first_with_what_they_need() {
    let expected = "\
CPU 3: 1.2 ms of each second stolen; all safe changes together leave 80 us

Next:
  quietcore apply --cpus 3 --with stat_interval
  quietcore boot set --cpus 3

Watched for 30 s: 7,530 gaps. With the same load, another watch of this length
  lies in the range in nine of ten cases.

 stolen/s               range   gaps/s   longest  with
   1.2 ms     1.1 ms - 1.4 ms      251    350 us  no change
    80 us       72 us - 96 us      0.5      9 us  all safe changes
            needs a reboot; without cpu_cycle, which has risks; moves up to 12
            us to other CPUs
   180 us     162 us - 216 us      3.0     40 us  boot line
            needs a reboot; costs speed
   1.1 ms     972 us - 1.3 ms      250    350 us  stat_interval
            rare: watch for 100 s
   1.2 ms     1.1 ms - 1.4 ms      251    350 us  profile minimal
            no effect seen

Periodic wake-ups that gaps delay: 0.1% by at least 35 us (900 ns with the
  first change), 0.01% by at least 175 us (4.5 us with the first change).

No change removes:
    30 us  firmware: no cure is known
     5 us  without a known cause
";
    assert_eq!(prediction_text(&prediction(), Style::Plain), expected);
}

#[test]
fn limits_of_a_prediction_are_reported_first() {
    let mut limited = prediction();
    limited.lost_events = 3;
    limited.unlisted_gaps = 7;
    let text = prediction_text(&limited, Style::Plain);
    let table = text.find("stolen/s").unwrap();
    for words in ["lost events", "Memory did not hold"] {
        assert!(text.find(words).is_some_and(|at| at < table), "{words}: {text}");
    }
}

#[test]
fn a_watch_without_gaps_or_causes_promises_nothing() {
    let mut quiet = prediction();
    quiet.gaps = 0;
    quiet.changes.clear();
    quiet.remaining.clear();
    assert_eq!(
        prediction_verdict(&quiet),
        "CPU 3: no gap was seen, so there is nothing to gain\n"
    );
    let mut unexplained = prediction();
    unexplained
        .changes
        .retain(|change| change.removed_ns_per_s.value == 0.0);
    unexplained.remaining.clear();
    unexplained.unexplained_ns_per_s = unexplained.now.stolen_ns_per_s.value;
    let text = prediction_text(&unexplained, Style::Plain);
    assert!(text.contains("no predicted change removes any of it"), "{text}");
    assert!(text.contains("No gap has a known cause"), "{text}");
    assert!(!text.contains("Next:"), "{text}");
}
