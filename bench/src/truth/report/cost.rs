//! The cost of sampling: the iteration time of a busy loop, time and system calls of a wake-up, page faults and sleeps.

use super::{BenchClaim, BenchVerdict, Results, Section, cell, interval_cell, known, own_tool, paired};
use crate::truth::running::ToolDisturbance;
use crate::truth::statistics::{interval, median};
use crate::truth::tools::ToolQuestion;

/// Iterations of the busy loops in the control runs.
pub(crate) fn iterations(results: &Results) -> (Section, Vec<BenchClaim>) {
    let own = own_tool(ToolQuestion::Gaps);
    let mean_turn =
        |tool: &str| results.per_block(tool, ToolDisturbance::Nothing, |ran, _| ran.seen.iteration_mean_ns());
    let of_ours = mean_turn(own);
    let mut rows = Vec::new();
    let mut claims = Vec::new();
    for tool in results.tools_for(ToolQuestion::Gaps) {
        let shortest = results.per_block(tool.name, ToolDisturbance::Nothing, |ran, _| {
            ran.seen.iteration_min_ns.map(|ns| ns as f64)
        });
        let shortest = known(&shortest).into_iter().reduce(f64::min);
        let theirs = mean_turn(tool.name);
        let mut row = vec![
            tool.name.to_owned(),
            cell(shortest, 0),
            cell(median(&known(&theirs)), 2),
        ];
        let difference = interval(&paired(&of_ours, &theirs)).filter(|_| tool.name != own);
        row.push(interval_cell(difference, 1.0));
        row.extend(own_disturbances(results, tool.name));
        rows.push(row);
        if let Some(difference) = difference {
            claims.push(BenchClaim {
                text: format!(
                    "a turn of the loop takes no longer than {}'s in the same blocks",
                    tool.name
                ),
                verdict: at_most_zero(difference.low),
            });
        }
    }
    claims.push(without_faults(results, ToolQuestion::Gaps));
    let section = Section {
        title: "Busy loops, control runs (mean turn = length / turns, so it holds the machine's own noise)".to_owned(),
        columns: columns(&["tool", "min turn ns", "mean turn ns", "ours - it"]),
        rows,
    };
    (section, claims)
}

/// The cost of a wake-up in the control runs.
pub(crate) fn wake_ups(results: &Results) -> (Section, Vec<BenchClaim>) {
    let own = own_tool(ToolQuestion::WakeUps);
    let running = |tool: &str| {
        results.per_block(tool, ToolDisturbance::Nothing, |ran, _| {
            (ran.between.voluntary > 0).then(|| ran.between.on_cpu_ns as f64 / ran.between.voluntary as f64 / 1e3)
        })
    };
    let process = |tool: &str| {
        results.per_block(tool, ToolDisturbance::Nothing, |ran, _| {
            (ran.seen.recorded > 0).then(|| ran.process_ns as f64 / ran.seen.recorded as f64 / 1e3)
        })
    };
    let of_ours = running(own);
    let mut rows = Vec::new();
    let mut claims = Vec::new();
    for tool in results.tools_for(ToolQuestion::WakeUps) {
        let theirs = running(tool.name);
        let difference = interval(&paired(&of_ours, &theirs)).filter(|_| tool.name != own);
        let calls = results.system_calls.iter().find(|(name, _)| *name == tool.name);
        let calls = match calls {
            Some((_, Ok(calls))) => format!("{calls:.3}"),
            Some((_, Err(why))) => why.clone(),
            None => "-".into(),
        };
        let mut row = vec![
            tool.name.to_owned(),
            cell(median(&known(&theirs)), 2),
            interval_cell(difference, 1.0),
            cell(median(&known(&process(tool.name))), 2),
            calls,
        ];
        row.extend(own_disturbances(results, tool.name));
        rows.push(row);
        if let Some(difference) = difference {
            claims.push(BenchClaim {
                text: format!("user and system time per wake-up at most {}'s, all threads", tool.name),
                verdict: at_most_zero(difference.low),
            });
        }
    }
    claims.push(without_faults(results, ToolQuestion::WakeUps));
    let section = Section {
        title: "Wake-ups, control runs (time of all threads while sampling; whole process: with its start and end)"
            .to_owned(),
        columns: columns(&[
            "tool",
            "us per wake-up",
            "ours - it",
            "whole process us",
            "calls per wake-up",
        ]),
        rows,
    };
    (section, claims)
}

fn columns(first: &[&str]) -> Vec<String> {
    let last = ["sampler's faults", "sleeps per s", "locked MiB"];
    first.iter().chain(&last).map(|word| (*word).to_owned()).collect()
}

/// The last three columns of both sections.
fn own_disturbances(results: &Results, tool: &str) -> [String; 3] {
    let of = |value: fn(&crate::truth::running::ToolResult) -> f64| {
        known(&results.per_block(tool, ToolDisturbance::Nothing, |ran, _| Some(value(ran))))
    };
    let faults = of(|ran| ran.between.page_faults as f64);
    let sleeps = of(|ran| ran.between.voluntary as f64 / ran.between.window_s.max(1e-9));
    let locked = of(|ran| ran.between.locked_kib as f64 / 1024.0);
    [
        cell((!faults.is_empty()).then(|| faults.iter().sum()), 0),
        cell(median(&sleeps), 0),
        cell(median(&locked), 1),
    ]
}

/// Whether the sampler has no page faults, as counted by the kernel and as reported by our tool.
fn without_faults(results: &Results, question: ToolQuestion) -> BenchClaim {
    let own = own_tool(question);
    let faults = results.per_block(own, ToolDisturbance::Nothing, |ran, _| {
        Some(
            ran.between
                .page_faults
                .max(ran.seen.own.map_or(0, |(faults, _)| faults)),
        )
    });
    let all: Vec<u64> = faults.into_iter().flatten().collect();
    let sum: u64 = all.iter().sum();
    BenchClaim {
        text: format!("no page fault in the sampler of {own} ({sum})"),
        verdict: match (all.is_empty(), sum) {
            (true, _) => BenchVerdict::Open,
            (false, 0) => BenchVerdict::Holds,
            (false, _) => BenchVerdict::Lost,
        },
    }
}

/// The claim is lost only if the whole interval is above zero.
fn at_most_zero(low: f64) -> BenchVerdict {
    if low > 0.0 {
        BenchVerdict::Lost
    } else {
        BenchVerdict::Holds
    }
}
