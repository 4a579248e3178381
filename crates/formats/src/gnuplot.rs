//! A gnuplot script with its data inside: `gnuplot -p FILE` draws the histograms of all CPUs on logarithmic axes.

use crate::model::{Kind, Recording};
use std::fmt::Write as _;

/// Writes the script: one named data block per series (lower bound in us, count), then the plot.
#[must_use]
pub fn write(recording: &Recording) -> String {
    let (title, axis) = match recording.kind() {
        Kind::Latency => ("Wake-up latency", "latency (us)"),
        Kind::Noise => ("Noise", "gap (us)"),
    };
    let mut text = format!("# {title}");
    if let Some(started_at) = &recording.started_at {
        let _ = write!(
            text,
            ", measured at {}",
            started_at.replace(char::is_control, " ")
        );
    }
    text.push('\n');
    let mut curves = Vec::new();
    for (place, series) in recording.series.iter().enumerate() {
        if series.buckets.is_empty() {
            continue;
        }
        let _ = writeln!(text, "$series{place} << EOD");
        for bucket in &series.buckets {
            // A logarithmic axis has no zero: what is below a nanosecond is drawn at one.
            let low = bucket.low_ns.max(1);
            let _ = writeln!(text, "{}.{:03} {}", low / 1_000, low % 1_000, bucket.count);
        }
        text.push_str("EOD\n");
        let what = if series.kind == recording.kind() {
            ""
        } else {
            " (gaps)"
        };
        curves.push(format!(
            "$series{place} using 1:2 with steps title \"{}{what}\"",
            series.label()
        ));
    }
    let _ = write!(
        text,
        "set title \"{title}\"\nset xlabel \"{axis}\"\nset ylabel \"samples\"\nset logscale xy\nset yrange [0.5:*]\nset grid\n"
    );
    if !curves.is_empty() {
        let _ = writeln!(text, "plot {}", curves.join(", \\\n     "));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::example;

    #[test]
    fn the_data_blocks_hold_every_bucket() {
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
                "$series{place} using 1:2 with steps title \"CPU {}\"",
                series.cpu.expect("a CPU")
            )));
        }
    }

    #[test]
    fn nothing_measured_plots_nothing() {
        assert!(!super::write(&example::empty()).contains("\nplot"));
    }
}
