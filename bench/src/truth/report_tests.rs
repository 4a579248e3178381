//! Made-up results through the whole report.

use super::*;
use crate::inject::event::{Event, Kind};
use crate::inject::{PREEMPT_GROUPS, PREEMPT_NS, preempt_group};
use crate::truth::seen::{Bin, Seen, bins_of_width};
use crate::truth::watched::Between;

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
        kernel: None,
        steal: Some(0.0),
    }
}

/// All groups in one run.
const ALL: usize = PREEMPT_GROUPS;

fn truth(group: usize) -> Vec<Event> {
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
            Event {
                kind: Kind::Preempt,
                wanted_ns,
                begin_ns,
                end_ns: begin_ns + wanted_ns,
            }
        })
        .collect()
}

/// Sees every disturbance as 3 us longer.
fn perfect(group: usize) -> Seen {
    let gaps: Vec<(u64, u64)> = truth(group)
        .iter()
        .map(|one| (one.begin_ns, one.end_ns + 3_000))
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
fn like_oslat(group: usize, from_ns: u64) -> Seen {
    let lengths = preempt_group(group).into_iter().filter(|&ns| ns >= from_ns);
    let counts = lengths.map(|ns| ((ns + 3_000).min(1_024_000), 6));
    Seen {
        bins: bins_of_width(counts, 1_000, Some(1_024_000)),
        duration_ns: 1_000_000,
        turns: Some(50_000),
        ..Seen::default()
    }
}

fn results(ours: impl Fn(usize) -> Seen, peer: impl Fn(usize) -> Seen) -> Results {
    let mut block = BTreeMap::new();
    let tools: [(&str, &dyn Fn(usize) -> Seen); 2] = [("ours noise", &ours), ("oslat", &peer)];
    for (name, seen) in tools {
        let undisturbed = Seen {
            bins: Vec::new(),
            gaps: None,
            ..seen(0)
        };
        block.insert((name, Disturbance::Nothing), ran(undisturbed, Vec::new()));
        for group in 0..PREEMPT_GROUPS {
            block.insert(
                (name, Disturbance::Preempt(group)),
                ran(seen(group), truth(group)),
            );
        }
        // The kernel's first and last event are half a microsecond inside of what a perfect sampler sees.
        let ends = truth(ALL)
            .iter()
            .flat_map(|one| [one.begin_ns + 500, one.end_ns + 2_500])
            .collect();
        let all = Ran {
            kernel: Some(ends),
            ..ran(seen(ALL), truth(ALL))
        };
        block.insert((name, Disturbance::PreemptAll), all);
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

fn all(group: usize) -> Seen {
    like_oslat(group, 0)
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
    let report = of(&results(perfect, all));
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
        bias.says.contains("at most +0.00 us (+-0.00)") && bias.says.contains(": reached"),
        "{bias:?}"
    );
    // Every length has its row, and oslat cannot tell the two longest apart but saw both.
    let recall = &report.sections[0].rows;
    assert_eq!(recall.len(), PREEMPT_NS.len());
    assert_eq!(recall[9][..5], ["5 ms", "18", "0", "100.0", "100.0"]);
    assert_eq!(report.sections[1].rows[9][2], "-");
}

#[test]
fn a_sampler_that_sees_less_than_its_peer_loses_and_the_length_is_named() {
    let blind = |group| {
        let mut seen = perfect(group);
        seen.bins.retain(|bin| bin.low_ns > 8_000);
        seen
    };
    let report = of(&results(blind, all));
    assert_eq!(
        verdict(
            &report,
            "recall of preemptions worse than the best peer's at 5 us"
        ),
        Verdict::Lost
    );
    assert!(report.lost());
    assert_eq!(report.json()["claims"][0]["verdict"], "LOST");
    let better = of(&results(perfect, |group| like_oslat(group, 50_000)));
    assert_eq!(verdict(&better, "recall of preemptions"), Verdict::Held);
}

#[test]
fn lost_wake_ups_a_slower_loop_and_faults_lose() {
    let silent = |group| {
        let mut seen = perfect(group);
        seen.recorded = 9;
        seen
    };
    assert_eq!(
        verdict(&of(&results(silent, all)), "expected = recorded"),
        Verdict::Lost
    );
    let slow = |group| {
        let mut seen = perfect(group);
        seen.turns = Some(49_999);
        seen
    };
    assert_eq!(
        verdict(&of(&results(slow, all)), "a turn of the loop"),
        Verdict::Lost
    );
    let faulting = |group| {
        let mut seen = perfect(group);
        seen.own = Some((1, 0));
        seen
    };
    let report = of(&results(faulting, all));
    assert_eq!(verdict(&report, "no page fault"), Verdict::Lost);
}

#[test]
fn a_sampler_that_grows_with_the_length_is_named() {
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
        .find(|claim| claim.says.starts_with("duration bias"))
        .unwrap();
    assert!(
        bias.says.contains("+0.70 us (+-0.00), at 5 ms") && bias.says.contains("NOT reached"),
        "{bias:?}"
    );
    assert_eq!(
        bias.verdict,
        Verdict::Open,
        "a time is printed and never asserted"
    );
}
