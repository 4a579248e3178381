//! Tests the whole report with artificial results.

use super::*;
use crate::inject::event::{DisturbanceKind, InjectedDisturbance};
use crate::inject::{PREEMPT_GROUPS, PREEMPT_NS, preempt_group};
use crate::truth::seen::{DurationBin, ToolReading, bins_of_width};
use crate::truth::watched::UsageDelta;

fn run_of(seen: ToolReading, events: Vec<InjectedDisturbance>) -> ToolResult {
    ToolResult {
        seen,
        events,
        between: UsageDelta {
            window_s: 1.0,
            on_cpu_ns: 2_000_000,
            voluntary: 1_000,
            page_faults: 0,
            locked_kib: 2_048,
        },
        process_ns: 5_000_000,
        switch_ns: 3_000,
        kernel: None,
        steal: Some(0.0),
    }
}

/// All groups in one run.
const ALL: usize = PREEMPT_GROUPS;

fn truth(group: usize) -> Vec<InjectedDisturbance> {
    let lengths = match group {
        ALL => PREEMPT_NS.to_vec(),
        group => preempt_group(group),
    };
    lengths
        .iter()
        .enumerate()
        .flat_map(|(place, &wanted_ns)| (0..6).map(move |time| (place * 6 + time, wanted_ns)))
        .map(|(place, wanted_ns)| {
            let begin_ns = 10_000_000 * (place as u64 + 1);
            InjectedDisturbance {
                kind: DisturbanceKind::Preempt,
                intended_ns: wanted_ns,
                begin_ns,
                end_ns: begin_ns + wanted_ns,
            }
        })
        .collect()
}

/// Reports every disturbance as 3 us longer.
fn perfect(group: usize) -> ToolReading {
    let gaps: Vec<(u64, u64)> = truth(group)
        .iter()
        .map(|one| (one.begin_ns, one.end_ns + 3_000))
        .collect();
    let exact = |(begin, end): &(u64, u64)| DurationBin {
        low_ns: end - begin,
        high_ns: Some(end - begin + 1),
        count: 1,
    };
    ToolReading {
        bins: gaps.iter().map(exact).collect(),
        gaps: Some(gaps),
        duration_ns: 1_000_000,
        expected: Some(10),
        recorded: 10,
        missed: Some(0),
        iterations: Some(100_000),
        ..ToolReading::default()
    }
}

/// The same as oslat would report it, without anything shorter than `from_ns`.
fn like_oslat(group: usize, from_ns: u64) -> ToolReading {
    let lengths = preempt_group(group).into_iter().filter(|&ns| ns >= from_ns);
    let counts = lengths.map(|ns| ((ns + 3_000).min(1_024_000), 6));
    ToolReading {
        bins: bins_of_width(counts, 1_000, Some(1_024_000)),
        duration_ns: 1_000_000,
        iterations: Some(50_000),
        ..ToolReading::default()
    }
}

fn results(ours: impl Fn(usize) -> ToolReading, peer: impl Fn(usize) -> ToolReading) -> Results {
    let mut block = BTreeMap::new();
    let tools: [(&str, &dyn Fn(usize) -> ToolReading); 2] = [("ours noise", &ours), ("oslat", &peer)];
    for (name, seen) in tools {
        let undisturbed = ToolReading {
            bins: Vec::new(),
            gaps: None,
            ..seen(0)
        };
        block.insert((name, ToolDisturbance::Nothing), run_of(undisturbed, Vec::new()));
        for group in 0..PREEMPT_GROUPS {
            block.insert(
                (name, ToolDisturbance::Preempt(group)),
                run_of(seen(group), truth(group)),
            );
        }
        // The kernel's first and last event are half a microsecond inside the gap that a perfect sampler sees.
        let ends = truth(ALL)
            .iter()
            .flat_map(|one| [one.begin_ns + 500, one.end_ns + 2_500])
            .collect();
        let all = ToolResult {
            kernel: Some(ends),
            ..run_of(seen(ALL), truth(ALL))
        };
        block.insert((name, ToolDisturbance::PreemptAll), all);
    }
    Results {
        tools: TOOLS
            .iter()
            .filter(|tool| tools.iter().any(|(name, _)| *name == tool.name))
            .collect(),
        blocks: vec![block.clone(), block.clone(), block],
        bare: Vec::new(),
        system_calls: Vec::new(),
    }
}

fn all(group: usize) -> ToolReading {
    like_oslat(group, 0)
}

fn verdict(report: &BenchReport, beginning: &str) -> BenchVerdict {
    let claim = report.claims.iter().find(|claim| claim.text.starts_with(beginning));
    claim.unwrap_or_else(|| panic!("no claim {beginning}")).verdict
}

#[test]
fn a_perfect_sampler_meets_all_claims() {
    let report = of(&results(perfect, all));
    assert_eq!(verdict(&report, "recall of preemptions"), BenchVerdict::Holds);
    assert_eq!(verdict(&report, "expected = recorded"), BenchVerdict::Holds);
    assert_eq!(verdict(&report, "a turn of the loop"), BenchVerdict::Holds);
    assert_eq!(
        verdict(&report, "no page fault in the sampler of ours noise"),
        BenchVerdict::Holds
    );
    assert_eq!(
        verdict(&report, "recall of stops"),
        BenchVerdict::Open,
        "there were none"
    );
    assert!(!report.lost());
    let bias = report
        .claims
        .iter()
        .find(|claim| claim.text.starts_with("duration bias"))
        .unwrap();
    assert!(
        bias.text.contains("at most +0.00 us (+-0.00)") && bias.text.contains(": reached"),
        "{bias:?}"
    );
    // Every length has its row. oslat cannot distinguish the two longest but detected both.
    let recall = &report.sections[0].rows;
    assert_eq!(recall.len(), PREEMPT_NS.len());
    assert_eq!(recall[9][..5], ["5 ms", "18", "0", "100.0", "100.0"]);
    assert_eq!(report.sections[1].rows[9][2], "-");
}

#[test]
fn lower_recall_than_the_best_peer_is_reported_with_the_length() {
    let blind = |group| {
        let mut seen = perfect(group);
        seen.bins.retain(|bin| bin.low_ns > 8_000);
        seen
    };
    let report = of(&results(blind, all));
    assert_eq!(
        verdict(&report, "recall of preemptions worse than the best peer's at 5 us"),
        BenchVerdict::Lost
    );
    assert!(report.lost());
    assert_eq!(report.json()["claims"][0]["verdict"], "LOST");
    let better = of(&results(perfect, |group| like_oslat(group, 50_000)));
    assert_eq!(verdict(&better, "recall of preemptions"), BenchVerdict::Holds);
}

#[test]
fn lost_wake_ups_a_slower_loop_and_page_faults_fail_the_claims() {
    let silent = |group| {
        let mut seen = perfect(group);
        seen.recorded = 9;
        seen
    };
    assert_eq!(
        verdict(&of(&results(silent, all)), "expected = recorded"),
        BenchVerdict::Lost
    );
    let slow = |group| {
        let mut seen = perfect(group);
        seen.iterations = Some(49_999);
        seen
    };
    assert_eq!(
        verdict(&of(&results(slow, all)), "a turn of the loop"),
        BenchVerdict::Lost
    );
    let faulting = |group| {
        let mut seen = perfect(group);
        seen.own = Some((1, 0));
        seen
    };
    let report = of(&results(faulting, all));
    assert_eq!(verdict(&report, "no page fault"), BenchVerdict::Lost);
}

#[test]
fn an_error_that_grows_with_the_length_is_reported() {
    let growing = |group| {
        let mut seen = perfect(group);
        for gap in seen.gaps.iter_mut().flatten().filter(|_| group == ALL) {
            gap.1 += if gap.1 - gap.0 > 5_000_000 { 700 } else { 0 };
        }
        seen
    };
    let report = of(&results(growing, all));
    let bias = report
        .claims
        .iter()
        .find(|claim| claim.text.starts_with("duration bias"))
        .unwrap();
    assert!(
        bias.text.contains("+0.70 us (+-0.00), at 5 ms") && bias.text.contains("NOT reached"),
        "{bias:?}"
    );
    assert_eq!(bias.verdict, BenchVerdict::Open, "a time is printed and never asserted");
}
