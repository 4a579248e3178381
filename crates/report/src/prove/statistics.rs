//! Numbers of the story that the terminal and the page both show: the two phases side by side, and residue.

use super::{Phase, Residue, ResidueRow, Story};
use crate::measurement::{maybe_mean, maybe_time, percent, time};
use crate::style::grouped;
use machine::CpuSet;
use measure::{Kind, Measurement, ThreadResult};
use observe::{Activity, Class, Counted};
use std::collections::BTreeMap;

/// One line of a comparison: what, before, isolated.
pub(super) struct Line {
    pub what: String,
    pub before: String,
    pub during: String,
}

/// A measurement of one kind in one phase.
pub(super) fn of(phase: Option<&Phase>, kind: Kind) -> Option<&Measurement> {
    match kind {
        Kind::Latency => phase?.latency.as_ref(),
        Kind::Noise => phase?.noise.as_ref(),
        // `prove` asks one question after the other.
        Kind::All => None,
    }
}

/// The histogram of all CPUs together.
pub(super) fn merged(measurement: &Measurement) -> Vec<(u64, u64)> {
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for (low, count) in measurement.threads.iter().flat_map(|thread| &thread.histogram) {
        let sum = sums.entry(*low).or_default();
        *sum = sum.saturating_add(*count);
    }
    sums.into_iter().collect()
}

/// The largest sample of all CPUs, without what the tool did to itself.
pub(crate) fn worst(measurement: &Measurement) -> Option<u64> {
    measurement
        .threads
        .iter()
        .filter_map(|thread| thread.stolen_max_ns.or(thread.max_ns))
        .max()
}

/// The largest 99.9th percentile of all CPUs.
pub(crate) fn tail(measurement: &Measurement) -> Option<u64> {
    measurement
        .threads
        .iter()
        .filter_map(|thread| thread.p999_ns)
        .max()
}

/// Share of the CPUs' time that others had; `None` where it was not counted.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn stolen(measurement: &Measurement) -> Option<f64> {
    let whole: u64 = measurement.threads.iter().map(|thread| thread.duration_ns).sum();
    let stolen: Option<u64> = measurement.threads.iter().map(|thread| thread.stolen_ns).sum();
    stolen
        .filter(|_| whole > 0)
        .map(|stolen| stolen as f64 * 100.0 / whole as f64)
}

/// Gaps per second and CPU.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn per_second(measurement: &Measurement) -> Option<f64> {
    let whole: u64 = measurement.threads.iter().map(|thread| thread.duration_ns).sum();
    let gaps: u64 = measurement.threads.iter().map(|thread| thread.expected).sum();
    (whole > 0).then(|| gaps as f64 * 1e9 / whole as f64)
}

/// A rate with the digits that matter.
pub(crate) fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.1 => format!("{value:.3}"),
        value if value < 100.0 => format!("{value:.1}"),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        value => grouped(value.round() as u64),
    }
}

/// The few numbers that decide, for both phases. Empty where nothing was measured.
pub(super) fn headlines(story: &Story) -> Vec<Line> {
    let mut lines = Vec::new();
    let phases = [story.before.as_ref(), story.during.as_ref()];
    let mut add = |what: &str, kind: Kind, value: &dyn Fn(&Measurement) -> String| {
        let [before, during] = phases.map(|phase| of(phase, kind).map(value));
        if before.is_some() || during.is_some() {
            let text = |value: Option<String>| value.unwrap_or_else(|| "not measured".to_owned());
            lines.push(Line {
                what: what.to_owned(),
                before: text(before),
                during: text(during),
            });
        }
    };
    add("worst wake-up", Kind::Latency, &|result| {
        maybe_time(worst(result))
    });
    add("99.9 % of wake-ups within", Kind::Latency, &|result| {
        maybe_time(tail(result))
    });
    add("longest gap in a busy loop", Kind::Noise, &|result| {
        maybe_time(worst(result))
    });
    add("gaps per second", Kind::Noise, &|result| {
        per_second(result).map_or_else(|| "-".to_owned(), rate)
    });
    add("CPU time taken by others", Kind::Noise, &|result| {
        stolen(result).map_or_else(|| "-".to_owned(), percent)
    });
    lines
}

/// All statistics of one CPU, for both phases.
pub(super) fn of_cpu(story: &Story, kind: Kind, cpu: u32) -> Vec<Line> {
    let thread = |phase: Option<&Phase>| -> Option<ThreadResult> {
        of(phase, kind)?
            .threads
            .iter()
            .find(|thread| thread.cpu.0 == cpu)
            .cloned()
    };
    let (before, during) = (thread(story.before.as_ref()), thread(story.during.as_ref()));
    let mut lines = Vec::new();
    let mut add = |what: &str, value: &dyn Fn(&ThreadResult) -> String| {
        let text = |thread: &Option<ThreadResult>| thread.as_ref().map_or_else(|| "-".to_owned(), value);
        lines.push(Line {
            what: what.to_owned(),
            before: text(&before),
            during: text(&during),
        });
    };
    add("smallest", &|thread| maybe_time(thread.min_ns));
    add("mean", &|thread| maybe_mean(thread.mean_ns));
    add("median", &|thread| maybe_time(thread.p50_ns));
    add("99 %", &|thread| maybe_time(thread.p99_ns));
    add("99.9 %", &|thread| maybe_time(thread.p999_ns));
    add("largest", &|thread| maybe_time(thread.max_ns));
    match kind {
        Kind::Latency | Kind::All => {
            add("wake-ups due", &|thread| grouped(thread.expected));
            add("recorded", &|thread| grouped(thread.recorded));
            add("missed", &|thread| grouped(thread.missed));
        }
        Kind::Noise => {
            add("gaps", &|thread| grouped(thread.expected));
            add("recorded", &|thread| grouped(thread.recorded));
            add("missed", &|thread| grouped(thread.missed));
            add("taken by others", &|thread| {
                thread.stolen_ns.map_or_else(|| "-".to_owned(), time)
            });
            add("the tool's own doing", &|thread| {
                thread.own_ns.map_or_else(|| "-".to_owned(), time)
            });
            add("window", &|thread| time(thread.duration_ns));
        }
    }
    lines
}

/// CPUs that a kind was measured on, in either phase.
pub(super) fn measured_cpus(story: &Story, kind: Kind) -> Vec<u32> {
    let phases = [story.before.as_ref(), story.during.as_ref()];
    let mut cpus: Vec<u32> = phases
        .into_iter()
        .filter_map(|phase| of(phase, kind))
        .flat_map(|result| result.threads.iter().map(|thread| thread.cpu.0))
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// What still arrived on the isolated CPUs, from the counters of both phases. Threads and interrupts that could
/// not be moved are for the caller to add.
#[must_use]
pub fn residue(before: Option<&Activity>, during: &Activity, isolated: &CpuSet) -> Vec<Residue> {
    let here = during
        .cpus
        .iter()
        .filter(|activity| isolated.contains(activity.cpu));
    here.map(|activity| {
        let earlier = before.and_then(|before| {
            let cpu = before.cpus.iter().find(|earlier| earlier.cpu == activity.cpu)?;
            (before.duration_ns > 0).then_some((cpu, before.duration_ns))
        });
        let rate_before = |counted: &Counted, softirq: bool| {
            let (cpu, duration_ns) = earlier?;
            let rows = if softirq { &cpu.softirqs } else { &cpu.interrupts };
            let row = rows.iter().find(|row| row.name == counted.name);
            Some(rate_of(row.map_or(0, |row| row.count), duration_ns))
        };
        let row = |counted: &Counted, softirq: bool| ResidueRow {
            class: Some(counted.class),
            name: counted.name.clone(),
            what: describe(counted, softirq),
            count: counted.count,
            per_second: rate_of(counted.count, during.duration_ns),
            per_second_before: rate_before(counted, softirq),
            cure: counted.class.row().knob.to_owned(),
        };
        let mut rows: Vec<ResidueRow> = activity
            .interrupts
            .iter()
            .map(|counted| row(counted, false))
            .collect();
        rows.extend(activity.softirqs.iter().map(|counted| row(counted, true)));
        if let Some(count) = activity.context_switches {
            rows.push(ResidueRow {
                class: None,
                name: "schedule".to_owned(),
                what: "calls of the scheduler; a busy loop alone on its CPU makes none".to_owned(),
                count,
                per_second: rate_of(count, during.duration_ns),
                per_second_before: earlier.and_then(|(cpu, ns)| Some(rate_of(cpu.context_switches?, ns))),
                cure: String::new(),
            });
        }
        rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        Residue {
            cpu: activity.cpu.0,
            rows,
            threads: Vec::new(),
            interrupts: Vec::new(),
        }
    })
    .collect()
}

/// The class in words; for a device also which one.
fn describe(counted: &Counted, softirq: bool) -> String {
    let name = counted.class.row().name;
    match counted.class {
        Class::Device | Class::Other if !softirq => format!("{name}: {}", counted.what),
        _ => name.to_owned(),
    }
}

#[allow(clippy::cast_precision_loss)]
fn rate_of(count: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 {
        0.0
    } else {
        count as f64 * 1e9 / duration_ns as f64
    }
}
