//! The text that `cyclictest -h` prints (rt-tests 2.4), so that scripts that plot it keep working.
//!
//! A row is `%06d` of the bucket in microseconds, a space, and one count of six digits per thread, set apart
//! by tabs; `# Total`, `# Min Latencies` and so on follow. Rows without samples are left out, as cyclictest
//! itself does since 2.7. Nothing overflows here, so the overflow line holds zeros, and what cyclictest never
//! counts (periods that were missed) is a comment line of its own.

use measure::{Measurement, ThreadResult};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Writes the histogram of all threads, one column each.
#[must_use]
pub fn write(measurement: &Measurement) -> String {
    let threads = &measurement.threads;
    let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (column, thread) in threads.iter().enumerate() {
        for (low_ns, count) in &thread.histogram {
            let row = rows
                .entry(low_ns / 1_000)
                .or_insert_with(|| vec![0; threads.len()]);
            if let Some(cell) = row.get_mut(column) {
                *cell += count;
            }
        }
    }
    let mut text = String::from("# Histogram\n");
    for (low_us, counts) in &rows {
        let counts: Vec<String> = counts.iter().map(|count| format!("{count:06}")).collect();
        let _ = writeln!(text, "{low_us:06} {}", counts.join("\t"));
    }
    let mut line = |name: &str, width: usize, value: &dyn Fn(&ThreadResult) -> u64| {
        let values: Vec<String> = threads
            .iter()
            .map(|thread| format!("{:0width$}", value(thread)))
            .collect();
        let _ = writeln!(text, "# {name}: {}", values.join(" "));
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let mean_us = |thread: &ThreadResult| thread.mean_ns.map_or(0, |mean| (mean / 1e3) as u64);
    line("Total", 9, &|thread| thread.recorded);
    line("Min Latencies", 5, &|thread| thread.min_ns.unwrap_or(0) / 1_000);
    line("Avg Latencies", 5, &mean_us);
    line("Max Latencies", 5, &|thread| thread.max_ns.unwrap_or(0) / 1_000);
    line("Histogram Overflows", 5, &|_| 0);
    text.push_str("# Histogram Overflow at cycle number:\n");
    for place in 0..threads.len() {
        let _ = writeln!(text, "# Thread {place}:");
    }
    for (place, thread) in threads.iter().enumerate() {
        let _ = writeln!(
            text,
            "# Thread {place} is CPU {}: expected {} missed {}",
            thread.cpu, thread.expected, thread.missed
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::example;

    /// Reads the text as the scripts do that plot it: rows by their first column, `#` lines apart.
    fn read(text: &str) -> (Vec<(u64, Vec<u64>)>, Vec<&str>) {
        let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let mut words = line
                .split_whitespace()
                .map(|word| word.parse::<u64>().expect("a number"));
            (words.next().expect("a bucket"), words.collect())
        });
        (
            rows.collect(),
            text.lines().filter(|line| line.starts_with('#')).collect(),
        )
    }

    #[test]
    fn every_sample_is_in_the_row_of_its_microsecond() {
        let text = super::write(&example::latency());
        let (rows, comments) = read(&text);
        assert_eq!(
            rows,
            [
                (2, vec![12, 0]),
                (3, vec![11, 4]),
                (5, vec![0, 2]),
                (70, vec![1, 0])
            ]
        );
        assert!(comments.contains(&"# Total: 000000024 000000006"));
        assert!(comments.contains(&"# Min Latencies: 00002 00003"));
        assert!(comments.contains(&"# Avg Latencies: 00004 00004"));
        assert!(comments.contains(&"# Max Latencies: 00070 00005"));
        assert!(text.starts_with("# Histogram\n000002 000012\t000000\n"));
    }

    #[test]
    fn no_samples_give_no_rows() {
        let text = super::write(&example::empty());
        assert!(read(&text).0.is_empty());
        assert!(text.contains("# Total: 000000000\n"));
    }
}
