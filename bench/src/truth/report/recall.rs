//! The share of the injected disturbances that a tool detected.

use super::{BenchClaim, BenchVerdict, Results, Section, cell, interval_cell, known, length, own_tool, paired};
use crate::inject::{PREEMPT_GROUPS, PREEMPT_NS, STOP_NS, preempt_group};
use crate::truth::running::{ToolDisturbance, ToolResult};
use crate::truth::score;
use crate::truth::statistics::{interval, interval_of_ten, mean};
use crate::truth::tools::ToolQuestion;

/// Recall per length of preemption, with the paired interval to the best peer.
pub(crate) fn preempts(results: &Results) -> (Section, Vec<BenchClaim>) {
    let title =
        "Recall, CPU taken away (% of the injected, control taken away; [95 % of ours - best peer over blocks])";
    let of_length = |place: usize| {
        let group = place % PREEMPT_GROUPS;
        (ToolDisturbance::Preempt(group), preempt_group(group))
    };
    let excess = |ran: &ToolResult| score::of_preemptions(ran.switch_ns);
    by_length(results, PREEMPT_NS, &of_length, &excess, (title, "preemptions"))
}

/// Recall per length of stops.
pub(crate) fn stops(results: &Results) -> (Section, Vec<BenchClaim>) {
    let lengths: Vec<u64> = STOP_NS.iter().map(|(ns, _)| *ns).collect();
    let title = "Recall, process stopped (SIGSTOP)";
    let of_length = |_: usize| (ToolDisturbance::Stop, lengths.clone());
    by_length(results, &lengths, &of_length, &|_| score::OF_STOPS, (title, "stops"))
}

fn by_length(
    results: &Results,
    all_lengths: &[u64],
    of_length: &dyn Fn(usize) -> (ToolDisturbance, Vec<u64>),
    excess: &dyn Fn(&ToolResult) -> score::Excess,
    (title, name): (&str, &str),
) -> (Section, Vec<BenchClaim>) {
    let tools: Vec<_> = results.tools_for(ToolQuestion::Gaps).map(|tool| tool.name).collect();
    let own = own_tool(ToolQuestion::Gaps);
    let mut columns: Vec<String> = ["length", "injected", "spoiled"].map(str::to_owned).into();
    columns.extend(tools.iter().map(|tool| (*tool).to_owned()));
    columns.extend(["ours by time", "ours - best peer"].map(str::to_owned));
    let mut rows = Vec::new();
    let (mut lost, mut below) = (Vec::new(), Vec::new());
    let mut compared = false;
    for (place, &length_ns) in all_lengths.iter().enumerate() {
        let (what, lengths) = of_length(place);
        let recall_of = |tool: &str, peers_ceiling: Option<u64>| {
            results.per_block(tool, what, |ran, control| {
                let ceiling = ran.seen.ceiling_ns().or(peers_ceiling);
                let window = score::window(length_ns, &lengths, excess(ran), ceiling);
                score::recall(&ran.seen, &control.seen, &ran.events, window)
            })
        };
        let per_tool: Vec<(&str, Vec<Option<f64>>)> = tools.iter().map(|tool| (*tool, recall_of(tool, None))).collect();
        let best = per_tool
            .iter()
            .filter(|(tool, _)| *tool != own)
            .filter_map(|(tool, values)| Some((mean(&known(values))?, *tool, values)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let differences = best.map(|(_, peer, theirs)| {
            // Lengths that the peer cannot distinguish are not required of our tool either.
            let ceilings = results.per_block(peer, what, |ran, _| ran.seen.ceiling_ns());
            paired(&recall_of(own, ceilings.into_iter().flatten().min()), theirs)
        });
        let single = differences.as_deref().and_then(interval);
        if let Some(found) = differences.as_deref().and_then(interval_of_ten) {
            compared = true;
            if found.high < 0.0 {
                lost.push(length(length_ns));
            }
        }
        if single.is_some_and(|found| found.high < 0.0) {
            below.push(length(length_ns));
        }
        let count = |spoiled: bool| -> usize {
            let blocks = results.per_block(own, what, |ran, _| {
                let same_length = ran.events.iter().filter(|event| event.intended_ns == length_ns);
                Some(same_length.filter(|event| !spoiled || event.spoiled()).count())
            });
            blocks.into_iter().flatten().sum()
        };
        let (mut injected, mut found) = (0, 0);
        for one in results
            .per_block(own, what, |ran, _| {
                Some(score::overlap(ran.seen.gaps.as_deref()?, &ran.events, length_ns))
            })
            .into_iter()
            .flatten()
        {
            injected += one.injected;
            found += one.found;
        }
        let mut row = vec![length(length_ns), count(false).to_string(), count(true).to_string()];
        row.extend(
            per_tool
                .iter()
                .map(|(_, values)| cell(mean(&known(values)).map(|share| share * 100.0), 1)),
        );
        row.push(if injected > 0 {
            format!("{found}/{injected}")
        } else {
            "-".into()
        });
        row.push(interval_cell(single, 100.0));
        rows.push(row);
    }
    let text = if lost.is_empty() {
        let alone = if below.is_empty() {
            String::new()
        } else {
            format!(" (below it by its own interval alone: {})", below.join(", "))
        };
        format!("recall of {name} no worse than the best peer's at any length, all lengths judged together{alone}")
    } else {
        format!("recall of {name} worse than the best peer's at {}", lost.join(", "))
    };
    let verdict = match (compared, lost.is_empty()) {
        (false, _) => BenchVerdict::Open,
        (true, true) => BenchVerdict::Holds,
        (true, false) => BenchVerdict::Lost,
    };
    let section = Section {
        title: title.to_owned(),
        columns,
        rows,
    };
    (section, vec![BenchClaim { text, verdict }])
}

/// Interrupts from another CPU: their number is known, their lengths are not.
pub(crate) fn interrupts(results: &Results) -> (Section, Vec<BenchClaim>) {
    let mut rows = Vec::new();
    for tool in results.tools_for(ToolQuestion::Gaps) {
        let injected: Vec<Option<f64>> =
            results.per_block(tool.name, ToolDisturbance::Ipi, |ran, _| Some(ran.events.len() as f64));
        let more: Vec<Option<f64>> = results.per_block(tool.name, ToolDisturbance::Ipi, |ran, control| {
            let all = |seen: &crate::truth::seen::ToolReading| seen.within(seen.floor_ns, u64::MAX) as f64;
            Some(all(&ran.seen) - all(&control.seen))
        });
        let met: Vec<Option<f64>> = results.per_block(tool.name, ToolDisturbance::Ipi, |ran, _| {
            Some(score::count_detected(ran.seen.gaps.as_deref()?, &ran.events) as f64)
        });
        let floor = results.per_block(tool.name, ToolDisturbance::Ipi, |ran, _| {
            Some(ran.seen.floor_ns as f64 / 1e3)
        });
        let sum = |values: &[Option<f64>]| {
            let values = known(values);
            (!values.is_empty()).then(|| values.iter().sum::<f64>())
        };
        rows.push(vec![
            tool.name.to_owned(),
            cell(sum(&injected), 0),
            cell(sum(&more), 0),
            cell(sum(&met), 0),
            cell(known(&floor).first().copied(), 0),
        ]);
    }
    let section = Section {
        title: "Interrupts from another CPU (their number is known, their length is not)".to_owned(),
        columns: [
            "tool",
            "sent",
            "gaps more than in the control",
            "met by time",
            "shortest gap us",
        ]
        .map(str::to_owned)
        .into(),
        rows,
    };
    (section, Vec::new())
}
