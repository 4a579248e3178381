//! A gnuplot script with its data inside: `gnuplot -p FILE` draws the histograms of all CPUs on logarithmic axes.

use measure::{Kind, Measurement};
use std::fmt::Write as _;

/// Writes the script: one named data block per CPU (`low_us count`), then the plot.
#[must_use]
pub fn write(measurement: &Measurement) -> String {
    let (title, axis) = match measurement.kind {
        Kind::Latency | Kind::All => ("Wake-up latency", "latency (us)"),
        Kind::Noise => ("Noise", "gap (us)"),
    };
    let mut text = format!(
        "# {title}, measured at {}\n",
        measurement.started_at.replace(char::is_control, " ")
    );
    for thread in &measurement.threads {
        let _ = writeln!(text, "$cpu{} << EOD", thread.cpu);
        for (low_ns, count) in &thread.histogram {
            let _ = writeln!(text, "{}.{:03} {count}", low_ns / 1_000, low_ns % 1_000);
        }
        text.push_str("EOD\n");
    }
    let _ = write!(
        text,
        "set title \"{title}\"\nset xlabel \"{axis}\"\nset ylabel \"samples\"\nset logscale xy\nset yrange [0.5:*]\nset grid\n"
    );
    let curves: Vec<String> = measurement
        .threads
        .iter()
        .filter(|thread| !thread.histogram.is_empty())
        .map(|thread| format!("$cpu{0} using 1:2 with steps title \"CPU {0}\"", thread.cpu))
        .collect();
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
        let measurement = example::latency();
        let text = super::write(&measurement);
        for thread in &measurement.threads {
            let start = format!("$cpu{} << EOD\n", thread.cpu);
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
            assert_eq!(read, thread.histogram);
            assert!(text.contains(&format!(
                "$cpu{0} using 1:2 with steps title \"CPU {0}\"",
                thread.cpu
            )));
        }
    }

    #[test]
    fn nothing_measured_plots_nothing() {
        assert!(!super::write(&example::empty()).contains("\nplot"));
    }
}
