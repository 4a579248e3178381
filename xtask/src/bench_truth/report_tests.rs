//! Made-up results through the whole report.

use super::*;
use crate::bench_truth::seen::{Bin, Seen, bins_of_width};
use crate::bench_truth::watched::Between;
use crate::inject::PREEMPT_NS;
use crate::inject::event::{Event, Kind};

fn ran(seen: Seen, events: Vec<Event>) -> Ran {
    Ran {
        seen,
        events,
        between: Between {
            window_s: 1.0,
            on_cpu_ns: 2_000_000,
            voluntary: 1_000,
            page_faults: 0,
            locked_kib: 2_048,
        },
        process_ns: 5_000_000,
        switch_ns: 3_000,
        steal: Some(0.0),
    }
}

fn truth() -> Vec<Event> {
    let lengths = PREEMPT_NS.iter().enumerate();
    lengths
        .map(|(place, &wanted_ns)| {
            let begin_ns = 10_000_000 * (place as u64 + 1);
            Event {
                kind: Kind::Preempt,
                wanted_ns,
                begin_ns,
                end_ns: begin_ns + wanted_ns,
            }
        })
        .collect()
}

/// Sees every disturbance as so much longer.
fn perfect(longer_ns: u64) -> Seen {
    let gaps: Vec<(u64, u64)> = truth()
        .iter()
        .map(|one| (one.begin_ns, one.end_ns + longer_ns))
        .collect();
    let exact = |(begin, end): &(u64, u64)| Bin {
        low_ns: end - begin,
        high_ns: Some(end - begin + 1),
        count: 1,
    };
    Seen {
        bins: gaps.iter().map(exact).collect(),
        gaps: Some(gaps),
        duration_ns: 1_000_000,
        expected: Some(10),
        recorded: 10,
        missed: Some(0),
        turns: Some(100_000),
        ..Seen::default()
    }
}

/// What oslat would say of the same, without what is shorter than that.
fn like_oslat(from_ns: u64) -> Seen {
    let lengths = PREEMPT_NS.iter().filter(|&&ns| ns >= from_ns);
    let counts = lengths.map(|ns| ((ns + 3_000).min(1_024_000), 1));
    Seen {
        bins: bins_of_width(counts, 1_000, Some(1_024_000)),
        duration_ns: 1_000_000,
        turns: Some(50_000),
        ..Seen::default()
    }
}

fn results(ours: Seen, peer: Seen) -> Results {
    let empty = |seen: &Seen| Seen {
        bins: Vec::new(),
        gaps: seen.gaps.as_ref().map(|_| Vec::new()),
        ..seen.clone()
    };
    let block = BTreeMap::from([
        (
            ("ours noise", Disturbance::Nothing),
            ran(empty(&ours), Vec::new()),
        ),
        (("ours noise", Disturbance::Preempt), ran(ours, truth())),
        (("oslat", Disturbance::Nothing), ran(empty(&peer), Vec::new())),
        (("oslat", Disturbance::Preempt), ran(peer, truth())),
    ]);
    Results {
        tools: TOOLS
            .iter()
            .filter(|tool| tool.name == "ours noise" || tool.name == "oslat")
            .collect(),
        blocks: vec![block.clone(), block.clone(), block],
        system_calls: Vec::new(),
    }
}

fn verdict(report: &Report, beginning: &str) -> Verdict {
    let claim = report
        .claims
        .iter()
        .find(|claim| claim.says.starts_with(beginning));
    claim.unwrap_or_else(|| panic!("no claim {beginning}")).verdict
}

#[test]
fn a_perfect_sampler_holds_all_its_claims() {
    let report = of(&results(perfect(3_000), like_oslat(0)));
    assert_eq!(verdict(&report, "recall of preemptions"), Verdict::Held);
    assert_eq!(verdict(&report, "expected = recorded"), Verdict::Held);
    assert_eq!(verdict(&report, "a turn of the loop"), Verdict::Held);
    assert_eq!(
        verdict(&report, "no page fault in the sampler of ours noise"),
        Verdict::Held
    );
    assert_eq!(
        verdict(&report, "recall of stops"),
        Verdict::Open,
        "there were none"
    );
    assert!(!report.lost());
    let bias = report
        .claims
        .iter()
        .find(|claim| claim.says.starts_with("duration bias"))
        .unwrap();
    assert!(
        bias.says.contains("at most +0.00 us") && bias.says.contains(": reached"),
        "{bias:?}"
    );
    // Every length has its row, and oslat cannot tell the two longest apart but saw both.
    let recall = &report.sections[0].rows;
    assert_eq!(recall.len(), PREEMPT_NS.len());
    assert_eq!(recall[9][..5], ["5 ms", "3", "0", "100.0", "100.0"]);
    assert_eq!(report.sections[1].rows[9][2], "-");
}

#[test]
fn a_sampler_that_sees_less_than_its_peer_loses_and_the_length_is_named() {
    let mut blind = perfect(3_000);
    blind.bins.retain(|bin| bin.low_ns > 8_000);
    let report = of(&results(blind, like_oslat(0)));
    assert_eq!(
        verdict(
            &report,
            "recall of preemptions worse than the best peer's at 5 us"
        ),
        Verdict::Lost
    );
    assert!(report.lost());
    assert_eq!(report.json()["claims"][0]["verdict"], "LOST");
    let better = of(&results(perfect(3_000), like_oslat(50_000)));
    assert_eq!(verdict(&better, "recall of preemptions"), Verdict::Held);
}

#[test]
fn lost_wake_ups_a_slower_loop_and_faults_lose() {
    let mut silent = perfect(3_000);
    silent.recorded = 9;
    assert_eq!(
        verdict(&of(&results(silent, like_oslat(0))), "expected = recorded"),
        Verdict::Lost
    );
    let mut slow = perfect(3_000);
    slow.turns = Some(49_999);
    assert_eq!(
        verdict(&of(&results(slow, like_oslat(0))), "a turn of the loop"),
        Verdict::Lost
    );
    let mut faulting = perfect(3_000);
    faulting.own = Some((1, 0));
    let report = of(&results(faulting, like_oslat(0)));
    assert_eq!(verdict(&report, "no page fault"), Verdict::Lost);
}

#[test]
fn a_sampler_that_grows_with_the_length_is_named() {
    let mut growing = perfect(3_000);
    if let Some(gap) = growing.gaps.as_mut().and_then(|gaps| gaps.last_mut()) {
        gap.1 += 700;
    }
    let report = of(&results(growing, like_oslat(0)));
    let bias = report
        .claims
        .iter()
        .find(|claim| claim.says.starts_with("duration bias"))
        .unwrap();
    assert!(
        bias.says.contains("+0.70 us, at 5 ms") && bias.says.contains("NOT reached"),
        "{bias:?}"
    );
    assert_eq!(
        bias.verdict,
        Verdict::Open,
        "a time is printed and never asserted"
    );
}
