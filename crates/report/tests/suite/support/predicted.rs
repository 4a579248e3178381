//! A prediction with every kind of change.

use machine::{CpuId, CpuSet};
use predict::{
    Estimate, GapQuantile, Outcome, PredictedChange, Prediction, ProposalKind, ProposedChange, RemainingCause,
    SizeRate, WakeUpDelay,
};

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
        others_busy_share: None,
        inferred_ns_per_s: 0.0,
        outcome,
        needs_watch_ns: None,
    }
}

/// The prediction of a watch of CPU 3, with one change of each kind.
pub fn prediction() -> Prediction {
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
        others: None,
        base_latency_ns: None,
        untraced: None,
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
