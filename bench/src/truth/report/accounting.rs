//! Whether every wake-up that was due is told of: recorded, or said to be missed.

use super::{Claim, Results, Section, Verdict, cell, known, ours};
use crate::truth::running::Disturbance;
use crate::truth::score;
use crate::truth::tools::{INTERVAL_NS, Question};

/// Per tool and disturbance, sums over the blocks; and of our noise sampler whether gaps were lost.
pub(crate) fn wake_ups(results: &Results) -> (Section, Vec<Claim>) {
    let mut rows = Vec::new();
    let mut own_untold = 0.0;
    let mut any = false;
    for question in [Question::WakeUps, Question::Gaps] {
        for tool in results.asking(question) {
            for (what, name) in [
                (Disturbance::Nothing, "nothing"),
                (Disturbance::Preempt(0), "preemptions"),
                (Disturbance::Stop, "stops"),
            ] {
                let sum = |values: Vec<Option<f64>>| {
                    let values = known(&values);
                    (!values.is_empty()).then(|| values.iter().sum::<f64>())
                };
                let all = |value: fn(&crate::truth::seen::Seen) -> Option<u64>| {
                    sum(results.per_block(tool.name, what, |ran, _| {
                        value(&ran.seen).map(|count| count as f64)
                    }))
                };
                let Some(expected) = all(|seen| seen.expected) else {
                    continue;
                };
                let untold = sum(results.per_block(tool.name, what, |ran, _| {
                    score::untold(&ran.seen).map(|count| count as f64)
                }));
                if tool.name == ours(question) {
                    any = true;
                    // Block by block: one lost here and one too many there are two faults.
                    let blocks = results.per_block(tool.name, what, |ran, _| score::untold(&ran.seen));
                    own_untold += blocks.into_iter().flatten().map(i64::unsigned_abs).sum::<u64>() as f64;
                }
                let late = (question == Question::WakeUps && what != Disturbance::Nothing).then(|| {
                    let due = sum(results.per_block(tool.name, what, |ran, _| {
                        Some(score::late_due(&ran.events, INTERVAL_NS))
                    }));
                    let told = sum(results.per_block(tool.name, what, |ran, control| {
                        Some(score::late_told(&ran.seen, &control.seen))
                    }));
                    due.zip(told)
                });
                rows.push(vec![
                    tool.name.to_owned(),
                    name.to_owned(),
                    cell(Some(expected), 0),
                    cell(all(|seen| Some(seen.recorded)), 0),
                    cell(all(|seen| seen.missed), 0),
                    cell(untold, 0),
                    late.flatten().map_or_else(
                        || "-".to_owned(),
                        |(due, told)| format!("{told:.0} of {due:.0} ({:.0} %)", 100.0 * told / due.max(1.0)),
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
    let verdict = match (any, own_untold > 0.0) {
        (false, _) => Verdict::Open,
        (true, false) => Verdict::Held,
        (true, true) => Verdict::Lost,
    };
    let says = format!("expected = recorded + missed in every run of ours ({own_untold:.0} beyond)");
    (section, vec![Claim { says, verdict }])
}
