//! Compares the reported duration of a disturbance with its actual duration.

use super::{BenchClaim, BenchVerdict, Results, Section, cell, length, own_tool};
use crate::inject::{PREEMPT_GROUPS, PREEMPT_NS, preempt_group};
use crate::truth::running::{ToolDisturbance, ToolResult};
use crate::truth::score;
use crate::truth::statistics::{median, median_within, quantile};
use crate::truth::tools::ToolQuestion;

/// The limit applies to this length and above.
const LIMITED_FROM_NS: u64 = 20_000;
/// The limit, in microseconds.
const LIMIT_US: f64 = 0.5;

/// Median difference per length, minus the one at the shortest length: the two context switches belong to the
/// disturbance and not to a tool.
pub(crate) fn preempts(results: &Results) -> (Section, Vec<BenchClaim>) {
    let own = own_tool(ToolQuestion::Gaps);
    let tools: Vec<_> = results.tools_for(ToolQuestion::Gaps).map(|tool| tool.name).collect();
    let mut columns = vec!["length".to_owned()];
    columns.extend(tools.iter().map(|tool| format!("{tool} (5 to 95 %)")));
    columns.extend(["ours - kernel", "bare loop"].map(str::to_owned));
    let of_tool = |tool: &str, length_ns: u64| -> Option<(f64, f64, f64)> {
        let (what, lengths) = run_of(length_ns);
        let all: Vec<(f64, f64)> = results
            .per_block(tool, what, |ran, control| {
                let window = score::window(
                    length_ns,
                    &lengths,
                    score::of_preemptions(ran.switch_ns),
                    ran.seen.ceiling_ns(),
                );
                score::differences(&ran.seen, &control.seen, window)
            })
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        let at = |share| quantile(&all, share).map(|ns| ns / 1e3);
        Some((at(0.5)?, at(0.05)?, at(0.95)?))
    };
    let shortest = PREEMPT_NS.first().copied().unwrap_or(0);
    // Compares each gap with the kernel's own time for it, and each run with its own shortest length. The cost of a
    // switch is not visible to a sampler and differs between runs.
    let excess = |ran: &ToolResult, length_ns: u64| {
        let gaps = ran.seen.gaps.as_deref()?;
        let kernel = ran.kernel.as_deref()?;
        Some(score::beyond_the_kernel(gaps, kernel, &ran.events, length_ns))
    };
    let by_time = |length_ns: u64, own_base: fn(&[f64]) -> Option<f64>| -> Option<(f64, f64)> {
        let of_run = |ran: &ToolResult, _: &ToolResult| {
            let base = own_base(&excess(ran, shortest)?)?;
            let found = excess(ran, length_ns)?;
            Some(found.into_iter().map(|ns| ns - base).collect::<Vec<f64>>())
        };
        let runs = results.per_block(own, ToolDisturbance::PreemptAll, of_run);
        let all: Vec<f64> = runs.into_iter().flatten().flatten().collect();
        median_within(&all).map(|(ns, within_ns)| (ns / 1e3, within_ns / 1e3))
    };
    let bare = |length_ns: u64| {
        median_within(&score::bare_excess_ns(&results.bare, length_ns))
            .map(|(ns, within_ns)| (ns / 1e3, within_ns / 1e3))
    };
    let base: Vec<Option<f64>> = tools
        .iter()
        .map(|tool| of_tool(tool, shortest).map(|(middle, ..)| middle))
        .collect();
    let (base_by_time, base_bare) = (by_time(shortest, |_| Some(0.0)), bare(shortest));
    let mut rows = Vec::new();
    let mut worst: Option<((f64, f64), u64)> = None;
    for &length_ns in PREEMPT_NS {
        let mut row = vec![length(length_ns)];
        for (tool, base) in tools.iter().zip(&base) {
            let found = of_tool(tool, length_ns).zip(*base);
            row.push(found.map_or_else(
                || "-".to_owned(),
                |((middle, low, high), base)| format!("{:+.2} ({:+.2} {:+.2})", middle - base, low - base, high - base),
            ));
        }
        let bias = by_time(length_ns, median);
        row.extend([bias, less(bare(length_ns), base_bare)].map(within));
        rows.push(row);
        if let Some((bias, by)) = bias.filter(|_| length_ns >= LIMITED_FROM_NS)
            && worst.is_none_or(|((worst, _), _)| bias.abs() > worst.abs())
        {
            worst = Some(((bias, by), length_ns));
        }
    }
    let mut constant = vec!["constant".to_owned()];
    constant.extend(base.iter().map(|base| cell(*base, 2)));
    constant.extend([base_by_time, base_bare].map(within));
    rows.push(constant);
    let section = Section {
        title: format!(
            "Duration bias in us: median of measured - injected, less the constant of the two switches (its last row, from {}); ours - kernel: beyond the kernel's own first and last event in the same gap",
            length(shortest)
        ),
        columns,
        rows,
    };
    let text = match worst {
        Some(((bias, by), length_ns)) => format!(
            "duration bias from {} up: at most {bias:+.2} us (+-{by:.2}), at {} (the aim is {LIMIT_US} us; a time, so not asserted: {})",
            length(LIMITED_FROM_NS),
            length(length_ns),
            if bias.abs() <= LIMIT_US {
                "reached"
            } else if bias.abs() - by > LIMIT_US {
                "NOT reached"
            } else {
                "these blocks do not decide it"
            }
        ),
        None => "duration bias: nothing to tell it from".to_owned(),
    };
    let verdict = BenchVerdict::Open;
    (section, vec![BenchClaim { text, verdict }])
}

/// The run in which this length was injected, and all lengths of that run.
fn run_of(length_ns: u64) -> (ToolDisturbance, Vec<u64>) {
    let place = PREEMPT_NS.iter().position(|&known| known == length_ns);
    let group = place.unwrap_or(0) % PREEMPT_GROUPS;
    (ToolDisturbance::Preempt(group), preempt_group(group))
}

/// The difference of two medians, and half of its interval.
fn less(found: Option<(f64, f64)>, base: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let ((found, by), (base, base_by)) = found.zip(base)?;
    // The shortest length is compared with itself.
    let both = if found == base { 0.0 } else { by.hypot(base_by) };
    Some((found - base, both))
}

fn within(value: Option<(f64, f64)>) -> String {
    value.map_or_else(|| "-".to_owned(), |(value, by)| format!("{value:.2} +-{by:.2}"))
}
