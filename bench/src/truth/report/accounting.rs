//! Checks whether every expected wake-up is reported, as recorded or as missed.

use super::{BenchClaim, BenchVerdict, Results, Section, cell, known, own_tool};
use crate::truth::running::ToolDisturbance;
use crate::truth::score;
use crate::truth::tools::{INTERVAL_NS, ToolQuestion};

/// Sums over the blocks, per tool and disturbance. For our noise sampler also whether gaps were lost.
pub(crate) fn wake_ups(results: &Results) -> (Section, Vec<BenchClaim>) {
    let mut rows = Vec::new();
    let mut own_unreported = 0.0;
    let mut any = false;
    for question in [ToolQuestion::WakeUps, ToolQuestion::Gaps] {
        for tool in results.tools_for(question) {
            for (what, name) in [
                (ToolDisturbance::Nothing, "nothing"),
                (ToolDisturbance::Preempt(0), "preemptions"),
                (ToolDisturbance::Stop, "stops"),
            ] {
                let sum = |values: Vec<Option<f64>>| {
                    let values = known(&values);
                    (!values.is_empty()).then(|| values.iter().sum::<f64>())
                };
                let all = |value: fn(&crate::truth::seen::ToolReading) -> Option<u64>| {
                    sum(results.per_block(tool.name, what, |ran, _| value(&ran.seen).map(|count| count as f64)))
                };
                let Some(expected) = all(|seen| seen.expected) else {
                    continue;
                };
                let unreported = sum(results.per_block(tool.name, what, |ran, _| {
                    score::unreported(&ran.seen).map(|count| count as f64)
                }));
                if tool.name == own_tool(question) {
                    any = true;
                    // Checks block by block: one lost wake-up and one surplus wake-up are two errors, even if they
                    // cancel out.
                    let blocks = results.per_block(tool.name, what, |ran, _| score::unreported(&ran.seen));
                    own_unreported += blocks.into_iter().flatten().map(i64::unsigned_abs).sum::<u64>() as f64;
                }
                let late = (question == ToolQuestion::WakeUps && what != ToolDisturbance::Nothing).then(|| {
                    let late_expected = sum(results.per_block(tool.name, what, |ran, _| {
                        Some(score::late_expected(&ran.events, INTERVAL_NS))
                    }));
                    let reported = sum(results.per_block(tool.name, what, |ran, control| {
                        Some(score::late_reported(&ran.seen, &control.seen))
                    }));
                    late_expected.zip(reported)
                });
                rows.push(vec![
                    tool.name.to_owned(),
                    name.to_owned(),
                    cell(Some(expected), 0),
                    cell(all(|seen| Some(seen.recorded)), 0),
                    cell(all(|seen| seen.missed), 0),
                    cell(unreported, 0),
                    late.flatten().map_or_else(
                        || "-".to_owned(),
                        |(due, was_reported)| {
                            format!(
                                "{was_reported:.0} of {due:.0} ({:.0} %)",
                                100.0 * was_reported / due.max(1.0)
                            )
                        },
                    ),
                ]);
            }
        }
    }
    let section = Section {
        title: format!(
            "Accounting, all blocks (late: {} us or more by our doing, recorded as late or said to be missed)",
            score::LATE_NS / 1_000
        ),
        columns: [
            "tool",
            "disturbed by",
            "expected",
            "recorded",
            "missed",
            "lost in silence",
            "late told",
        ]
        .map(str::to_owned)
        .into(),
        rows,
    };
    let verdict = match (any, own_unreported > 0.0) {
        (false, _) => BenchVerdict::Open,
        (true, false) => BenchVerdict::Holds,
        (true, true) => BenchVerdict::Lost,
    };
    let text = format!("expected = recorded + missed in every run of ours ({own_unreported:.0} beyond)");
    (section, vec![BenchClaim { text, verdict }])
}
