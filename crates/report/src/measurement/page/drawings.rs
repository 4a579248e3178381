//! The drawings of one kind of measurement: its histogram, beside it that of all wake-ups that were due, the period, and
//! when the gaps were.

use super::super::maybe_time;
use crate::page::chart::{Series, histograms};
use crate::page::heat_map::{self, heat_map};
use crate::page::parts::CPUS;
use crate::page::strip::{Strip, gaps};
use crate::prove::{merged, worst};
use crate::style::grouped;
use measure::{Distribution, Kind, Measurement, ThreadResult};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Writes the drawings of a measurement into the page.
pub(super) fn of(page: &mut String, measurement: &Measurement) {
    let (heading, axis, id) = match measurement.kind {
        Kind::Latency | Kind::All => ("Wake-up latency", "how late the thread woke up", "samples"),
        Kind::Noise => ("Noise", "how long the program was stopped", "gaps"),
    };
    let _ = writeln!(page, "<h2>{heading}</h2>");
    let histogram = merged(measurement);
    let worst = worst(measurement);
    let sampled = Series {
        class: "during",
        name: "as sampled",
        histogram: &histogram,
        worst,
    };
    let due = together(measurement, |thread| thread.schedule.as_ref());
    match due {
        // The same wake-ups twice in one drawing: without those that were missed, and with them.
        Some(due) if !due.0.is_empty() => {
            let all: u64 = due.0.iter().map(|(_, count)| count).sum();
            let seen: u64 = histogram.iter().map(|(_, count)| count).sum();
            let _ = writeln!(
                page,
                "<div class=\"legend\"><span class=\"during\">as sampled: {} wake-ups</span>\
                 <span class=\"before\">all that were due: {}, missed ones as late as they would have been</span></div>",
                grouped(seen),
                grouped(all)
            );
            let due = Series {
                class: "before",
                name: "all that were due",
                histogram: &due.0,
                worst: due.1,
            };
            figure(page, id, heading, axis, &[due, sampled]);
        }
        _ => figure(page, id, heading, axis, &[sampled]),
    }
    let period = together(measurement, |thread| {
        thread.jitter.as_ref().map(|jitter| &jitter.distance)
    });
    if let Some((histogram, worst)) = period.filter(|(histogram, _)| !histogram.is_empty()) {
        page.push_str("<h3>Period</h3>\n");
        let series = Series {
            class: "during",
            name: "period",
            histogram: &histogram,
            worst,
        };
        let axis = "how far two wake-ups were from the distance they were due at";
        figure(page, "period", "Period", axis, &[series]);
    }
    over_time(page, measurement);
    if measurement.kind == Kind::Noise {
        strips(page, measurement);
    }
}

/// Where and when it was worst. It is drawn of a single CPU too: nothing else shows when wake-ups were late.
fn over_time(page: &mut String, measurement: &Measurement) {
    let Some(svg) = heat_map(measurement.kind, &measurement.threads) else {
        return;
    };
    let rest = match measurement.threads.len().saturating_sub(heat_map::ROWS) {
        0 => String::new(),
        more => format!(" {more} more are in the tables."),
    };
    let _ = writeln!(
        page,
        "<h3>Over time</h3>\n<figure>{svg}<figcaption>A row for each CPU, with all of its samples.{rest}</figcaption></figure>"
    );
}

fn figure(page: &mut String, id: &str, heading: &str, axis: &str, series: &[Series]) {
    let worst = series.iter().filter_map(|series| series.worst).max();
    let description = format!(
        "Histogram on logarithmic axes, all measured CPUs together; largest {}",
        maybe_time(worst)
    );
    match histograms(id, heading, &description, axis, series) {
        Some(svg) => {
            let _ = writeln!(
                page,
                "<figure>{svg}<figcaption>All measured CPUs together; both axes are logarithmic.</figcaption></figure>"
            );
        }
        None => page.push_str("<p>No sample was recorded: there is nothing to draw.</p>\n"),
    }
}

/// Buckets of all threads, and the largest value.
type Together = (Vec<(u64, u64)>, Option<u64>);

/// A distribution of all threads together; `None` where no thread has it.
fn together<'a>(
    measurement: &'a Measurement,
    of: impl Fn(&'a ThreadResult) -> Option<&'a Distribution>,
) -> Option<Together> {
    let all: Vec<&Distribution> = measurement.threads.iter().filter_map(of).collect();
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for (low, count) in all.iter().flat_map(|one| &one.histogram) {
        let sum = sums.entry(*low).or_default();
        *sum = sum.saturating_add(*count);
    }
    let worst = all.iter().filter_map(|one| one.max_ns).max();
    (!all.is_empty()).then(|| (sums.into_iter().collect(), worst))
}

fn strips(page: &mut String, measurement: &Measurement) {
    for thread in measurement.threads.iter().take(CPUS) {
        let cpu = thread.cpu.0;
        let strip = Strip {
            class: "during",
            name: "measured",
            thread,
        };
        if let Some(svg) = gaps(cpu, &[strip]) {
            let _ = writeln!(
                page,
                "<figure>{svg}<figcaption>CPU {cpu}: when the gaps were, and how long.</figcaption></figure>"
            );
        }
    }
}
