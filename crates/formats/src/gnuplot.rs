//! Writes a gnuplot script with embedded data: `gnuplot -p FILE` draws one panel per measured quantity, with the
//! curves of all CPUs: wake-ups (as sampled, and with all expected ones), gaps, period, early wake-ups, values over time,
//! and single samples.

use crate::model::{Basis, Recording, Series, SeriesKind};
use std::fmt::Write as _;

/// A panel of the drawing.
struct Panel {
    title: &'static str,
    axis: &'static str,
    kind: SeriesKind,
    bases: &'static [Basis],
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "Wake-up latency",
        axis: "latency (us)",
        kind: SeriesKind::Latency,
        bases: &[Basis::Samples, Basis::Schedule],
    },
    Panel {
        title: "Noise",
        axis: "gap (us)",
        kind: SeriesKind::Noise,
        bases: &[Basis::Samples],
    },
    Panel {
        title: "Period between wake-ups",
        axis: "deviation (us)",
        kind: SeriesKind::Latency,
        bases: &[Basis::Period],
    },
    Panel {
        title: "Early wake-ups",
        axis: "early by (us)",
        kind: SeriesKind::Latency,
        bases: &[Basis::Early],
    },
];

/// Writes the script: the facts as text, one named data block per histogram (lower bound in us, count), per list of
/// stretches and of single samples (seconds, us), then the panels that have data.
pub fn write(recording: &Recording) -> String {
    let mut text = String::new();
    head(&mut text, recording);
    let mut panels: Vec<(String, Vec<String>)> = PANELS.iter().map(histogram_panel).collect();
    let (mut courses, mut times) = (Vec::new(), Vec::new());
    for (place, series) in recording.series.iter().enumerate() {
        for one in series.with_those_beside() {
            let name = match one.basis {
                Basis::Samples => format!("$series{place}"),
                other => format!("$series{place}_{}", other.name()),
            };
            let panel = PANELS
                .iter()
                .position(|panel| panel.kind == one.kind && panel.bases.contains(&one.basis));
            let (Some(panel), false) = (panel, one.buckets.is_empty()) else {
                continue;
            };
            block(&mut text, &name, one);
            let dashes = match one.basis {
                Basis::Schedule => " dashtype 2",
                _ => "",
            };
            let curve = format!(
                "{name} using 1:2 with steps{dashes} title \"{}\"",
                legend(recording, one)
            );
            panels[panel].1.push(curve);
        }
        let (latest, late) = match series.kind {
            SeriesKind::Latency => ("latest", "late"),
            SeriesKind::Noise => ("stolen", "gaps"),
        };
        let label = series.label();
        if !series.stretches.is_empty() {
            let name = format!("$course{place}");
            let rows = series.stretches.iter();
            moments(&mut text, &name, rows.map(|one| (one.at_ns, one.value_ns)));
            courses.push(format!("{name} using 1:2 with steps title \"{label} {latest}\""));
        }
        if !series.spikes.is_empty() {
            let name = format!("$times{place}");
            let rows = series.spikes.iter();
            moments(&mut text, &name, rows.map(|one| (one.at_ns, one.duration_ns)));
            times.push(format!("{name} using 1:2 with points title \"{label} {late}\""));
        }
    }
    panels.push((time_panel("Time of the events"), courses));
    panels.push((time_panel("Time of single samples"), times));
    panels.retain(|(_, curves)| !curves.is_empty());
    plot(&mut text, &panels);
    text
}

/// Draws the panels, with their settings, one below the other.
fn plot(text: &mut String, panels: &[(String, Vec<String>)]) {
    text.push_str("set grid\n");
    let many = panels.len() > 1;
    if many {
        let _ = writeln!(text, "set multiplot layout {},1", panels.len());
    }
    for (settings, curves) in panels {
        let _ = writeln!(text, "{settings}plot {}", curves.join(", \\\n     "));
    }
    if many {
        text.push_str("unset multiplot\n");
    }
}

/// Facts that no curve can show, as comments.
fn head(text: &mut String, recording: &Recording) {
    let mut line = |words: &str| {
        let _ = writeln!(text, "# {}", words.replace(char::is_control, " "));
    };
    let version = recording.version.as_deref().unwrap_or_default();
    line(&format!("{} {version}", recording.tool));
    if let Some(started_at) = &recording.started_at {
        line(&format!("measured at {started_at}"));
    }
    for (name, value) in &recording.facts {
        line(&format!("{name}: {value}"));
    }
    for series in &recording.series {
        for (name, value) in &series.facts {
            line(&format!("{}: {name}: {value}", recording.name_of(series)));
        }
    }
    for note in &recording.notes {
        line(&format!("{:?}: {}: {}", note.level, note.subject, note.message));
    }
}

fn histogram_panel(panel: &Panel) -> (String, Vec<String>) {
    let settings = format!(
        "set title \"{}\"\nset xlabel \"{}\"\nset ylabel \"samples\"\nset logscale xy\nset yrange [0.5:*]\n",
        panel.title, panel.axis
    );
    (settings, Vec::new())
}

fn time_panel(title: &str) -> String {
    format!(
        "set title \"{title}\"\nset xlabel \"time (s)\"\nset ylabel \"us\"\n\
         unset logscale\nset logscale y\nset yrange [*:*]\n"
    )
}

/// A data block of times since the start of the measurement and their values.
fn moments(text: &mut String, name: &str, rows: impl Iterator<Item = (u64, u64)>) {
    let _ = writeln!(text, "{name} << EOD");
    for (at_ns, value_ns) in rows {
        let (seconds, rest) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        let _ = writeln!(text, "{seconds}.{rest:09} {}", us(value_ns));
    }
    text.push_str("EOD\n");
}

fn block(text: &mut String, name: &str, series: &Series) {
    let _ = writeln!(text, "{name} << EOD");
    for bucket in &series.buckets {
        // A logarithmic axis has no zero: values below a nanosecond are drawn at one.
        let _ = writeln!(text, "{} {}", us(bucket.low_ns.max(1)), bucket.count);
    }
    text.push_str("EOD\n");
}

fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// The label, the basis, the samples outside the curve, and the largest.
fn legend(recording: &Recording, series: &Series) -> String {
    let mut text = recording.name_of(series);
    let missed = match series.kind {
        SeriesKind::Latency => "missed",
        SeriesKind::Noise => "not recorded",
    };
    let not_in_it = [(series.missed, missed), (series.overflow, "above the histogram")];
    for (count, what) in not_in_it {
        if let Some(count) = count.filter(|count| *count > 0) {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if let Some(max) = series.stated.max_ns {
        let _ = write!(text, ", max {}", us(max));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::example;

    #[test]
    fn the_data_blocks_contain_every_bucket() {
        let recording = example::latency();
        let text = super::write(&recording);
        for (place, series) in recording.series.iter().enumerate() {
            let start = format!("$series{place} << EOD\n");
            let block = text
                .split(&start)
                .nth(1)
                .and_then(|rest| rest.split("EOD\n").next())
                .expect("a data block");
            let read: Vec<(u64, u64)> = block
                .lines()
                .map(|line| {
                    let (us, count) = line.split_once(' ').expect("two columns");
                    (
                        us.replace('.', "").parse().expect("a time"),
                        count.parse().expect("a count"),
                    )
                })
                .collect();
            let wanted: Vec<(u64, u64)> = series
                .buckets
                .iter()
                .map(|bucket| (bucket.low_ns, bucket.count))
                .collect();
            assert_eq!(read, wanted);
            assert!(text.contains(&format!(
                "$series{place} using 1:2 with steps title \"CPU {}",
                series.cpu.expect("a CPU")
            )));
        }
        assert!(text.contains("3 missed, max 70.016\""), "{text}");
    }

    #[test]
    fn an_empty_result_has_no_plot() {
        assert!(!super::write(&example::empty()).contains("\nplot"));
    }
}
