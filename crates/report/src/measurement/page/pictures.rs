//! Draws the distributions of one kind of measurement: overlaid curves of the measured CPUs, and the same wake-ups by their
//! schedule. With more CPUs than can be distinguished, draws the sum of all and the worst ones.

use crate::page::curves::Curve;
use crate::page::picture::{CURVES, Picture, common, picture};
use crate::style::grouped;
use machine::OrderBy;
use maud::{Markup, html};
use measure::{Distribution, Measurement, MeasurementKind, ThreadResult};
use std::collections::BTreeMap;

/// Draws the samples.
pub(super) fn samples(measurement: &Measurement) -> Markup {
    let (id, heading, axis, what) = match measurement.kind {
        MeasurementKind::Latency | MeasurementKind::All => {
            ("samples", "Wake-up latency", "how late the thread woke up", "wake-ups")
        }
        MeasurementKind::Noise => ("gaps", "Noise", "how long the program was stopped", "gaps"),
    };
    let each = measurement.threads.iter().map(|thread| CpuSamples {
        cpu: thread.cpu.0,
        histogram: &thread.histogram,
        // Without the tool's own overhead.
        worst_ns: thread.stolen_max_ns.or(thread.max_ns),
    });
    let expected = expected_curve(measurement);
    let mut drawn = CurveSet::of(each.collect(), CURVES - usize::from(expected.is_some()), what);
    drawn.curves.extend(expected.map(|curve| Curve {
        number: drawn.curves.len(),
        ..curve
    }));
    drawn.picture(id, heading, axis)
}

/// Draws the distribution of distances between wake-ups, if measured.
pub(super) fn period(measurement: &Measurement) -> Markup {
    let each: Vec<CpuSamples> = measurement
        .threads
        .iter()
        .filter_map(|thread| {
            let distance = &thread.jitter.as_ref()?.distance;
            Some(CpuSamples {
                cpu: thread.cpu.0,
                histogram: &distance.histogram,
                worst_ns: distance.max_ns,
            })
        })
        .filter(|one| !one.histogram.is_empty())
        .collect();
    if each.is_empty() {
        return Markup::default();
    }
    let axis = "deviation of the time between two wake-ups from the expected one";
    let drawn = CurveSet::of(each, CURVES, "distances");
    html! { h3 { "Period" } "\n" (drawn.picture("period", "Period", axis)) }
}

/// All expected wake-ups of all CPUs together; `None` without a schedule.
fn expected_curve(measurement: &Measurement) -> Option<Curve> {
    let schedule = |thread: &'_ ThreadResult| thread.schedule.as_ref().map(|one: &Distribution| one.histogram.clone());
    let all: Vec<Vec<(u64, u64)>> = measurement.threads.iter().filter_map(schedule).collect();
    let curve = Curve {
        number: 0,
        name: "all expected".to_owned(),
        note: String::new(),
        histogram: together(all.iter().map(Vec::as_slice)),
        worst_ns: None,
    };
    let count = grouped(curve.samples());
    let on = if all.len() > 1 { " on all CPUs" } else { "" };
    (curve.samples() > 0).then(|| Curve {
        note: format!("{count}{on}; missed ones count with their estimated latency"),
        ..curve
    })
}

/// The data for one CPU's curve.
struct CpuSamples<'a> {
    cpu: u32,
    histogram: &'a [(u64, u64)],
    worst_ns: Option<u64>,
}

/// The curves, and the number of CPUs without a curve.
struct CurveSet {
    curves: Vec<Curve>,
    left_out: usize,
}

impl CurveSet {
    /// At most this many curves; the worst is always included and has a flag.
    fn of(mut each: Vec<CpuSamples>, room: usize, what: &str) -> CurveSet {
        let all = each.len();
        let mut curves = Vec::new();
        let curve = |name: String, histogram: Vec<(u64, u64)>| {
            let curve = Curve {
                number: 0,
                name,
                note: String::new(),
                histogram,
                worst_ns: None,
            };
            Curve {
                note: format!("{} {what}", grouped(curve.samples())),
                ..curve
            }
        };
        if all > room {
            let histogram = together(each.iter().map(|one| one.histogram));
            curves.push(curve(format!("all {all} CPUs"), histogram));
            each.order_by_key(|one| std::cmp::Reverse(one.worst_ns));
            each.truncate(room.saturating_sub(1));
            each.order_by_key(|one| one.cpu);
        }
        let worst_ns = each.iter().filter_map(|one| one.worst_ns).max();
        let worst = each.iter().find(|one| one.worst_ns == worst_ns).map(|one| one.cpu);
        curves.extend(each.iter().map(|one| Curve {
            worst_ns: worst_ns.filter(|_| worst == Some(one.cpu)),
            ..curve(format!("CPU {}", one.cpu), one.histogram.to_vec())
        }));
        for (number, curve) in curves.iter_mut().enumerate() {
            curve.number = number;
        }
        CurveSet {
            curves,
            left_out: all - each.len(),
        }
    }

    fn picture(&self, id: &str, heading: &str, axis: &str) -> Markup {
        let drawn = picture(&Picture {
            id,
            title: &format!("{heading}: the share of all samples of each CPU, by length"),
            axis,
            legend: "Each CPU",
            curves: &self.curves,
            common_ns: common(&self.curves),
        });
        html! {
            (drawn)
            @if self.left_out > 0 {
                p.note {
                    "The drawing shows all CPUs together and the CPUs with the worst samples; those of " (self.left_out)
                    " more are in the JSON."
                } "\n"
            }
        }
    }
}

/// Merges histograms into one.
fn together<'a>(histograms: impl Iterator<Item = &'a [(u64, u64)]>) -> Vec<(u64, u64)> {
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for (low_ns, count) in histograms.flatten() {
        let sum = sums.entry(*low_ns).or_default();
        *sum = sum.saturating_add(*count);
    }
    sums.into_iter().collect()
}
