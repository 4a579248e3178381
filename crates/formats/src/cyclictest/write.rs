//! Writes the text of `cyclictest -h`, so that existing plot scripts keep working.
//!
//! A row is `%06d` of the bucket in microseconds, a space, and one six-digit count per thread, separated
//! by tabs; `# Total`, `# Min Latencies` and so on follow. rt-tests 2.4 prints every row, 2.7 and later omit empty
//! rows. Values that cyclictest never counts (missed periods) are in a separate comment line.

use crate::model::{Recording, Series, SeriesKind};
use crate::statistics::{best_mean_ns, whole};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// cyclictest's maximum number of rows; larger values are overflows there, too.
const MOST_ROWS: u64 = 1_000_000;

/// The comment for gaps, which cyclictest does not measure.
pub(super) const NOISE: &str = "These are gaps in a busy loop, not latencies of wake-ups";

/// All rows up to the longest sample, as before rt-tests 2.7.
pub fn every_row(recording: &Recording) -> String {
    let recording = &*recording.of_one_kind();
    let rows = rows(recording);
    let last = rows.keys().next_back().copied();
    let empty = vec![0; recording.series.len()];
    let mut text = String::from("# Histogram\n");
    for us in 0..last.map_or(0, |last| last + 1) {
        row(&mut text, us, rows.get(&us).unwrap_or(&empty));
    }
    summary(&mut text, recording);
    text
}

/// Only the rows with samples, as since rt-tests 2.7.
pub fn rows_with_samples(recording: &Recording) -> String {
    let recording = &*recording.of_one_kind();
    let mut text = String::from("# Histogram\n");
    for (us, counts) in &rows(recording) {
        row(&mut text, *us, counts);
    }
    summary(&mut text, recording);
    text
}

fn rows(recording: &Recording) -> BTreeMap<u64, Vec<u64>> {
    let series = &recording.series;
    let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (column, one) in series.iter().enumerate() {
        for bucket in one.buckets.iter().filter(|bucket| bucket.low_ns / 1_000 < MOST_ROWS) {
            let row = rows
                .entry(bucket.low_ns / 1_000)
                .or_insert_with(|| vec![0; series.len()]);
            if let Some(cell) = row.get_mut(column) {
                *cell = cell.saturating_add(bucket.count);
            }
        }
    }
    rows
}

fn row(text: &mut String, us: u64, counts: &[u64]) {
    let _ = write!(text, "{us:06} ");
    for (place, count) in counts.iter().enumerate() {
        let _ = write!(text, "{}{count:06}", if place > 0 { "\t" } else { "" });
    }
    text.push('\n');
}

/// Samples without a row.
fn above(series: &Series) -> u64 {
    let buckets = series.buckets.iter();
    buckets
        .filter(|bucket| bucket.low_ns / 1_000 >= MOST_ROWS)
        .map(|bucket| bucket.count)
        .fold(series.overflow.unwrap_or(0), u64::saturating_add)
}

fn summary(text: &mut String, recording: &Recording) {
    let all = &recording.series;
    let mut line = |name: &str, width: usize, value: &dyn Fn(&Series) -> u64| {
        let values: Vec<String> = all.iter().map(|series| format!("{:0width$}", value(series))).collect();
        let _ = writeln!(text, "# {name}: {}", values.join(" "));
    };
    let first = |series: &Series| series.buckets.first().map_or(0, |bucket| bucket.low_ns);
    let last = |series: &Series| series.buckets.last().map_or(0, |bucket| bucket.low_ns);
    line("Total", 9, &|series| {
        let overflow = above(series).saturating_sub(series.overflow.unwrap_or(0));
        series.in_buckets().saturating_sub(overflow)
    });
    line("Min Latencies", 5, &|series| {
        series.stated.min_ns.unwrap_or(first(series)) / 1_000
    });
    line("Avg Latencies", 5, &|series| {
        whole(best_mean_ns(series).unwrap_or(0.0) / 1e3)
    });
    line("Max Latencies", 5, &|series| {
        series.stated.max_ns.unwrap_or(last(series)) / 1_000
    });
    line("Histogram Overflows", 5, &above);
    text.push_str("# Histogram Overflow at cycle number:\n");
    for place in 0..all.len() {
        let _ = writeln!(text, "# Thread {place}:");
    }
    for (place, series) in all.iter().enumerate() {
        let Some(cpu) = series.cpu else { continue };
        let _ = write!(text, "# Thread {place} is CPU {cpu}");
        if let Some(missed) = series.missed {
            let _ = write!(
                text,
                ": expected {} missed {missed}",
                series.samples().unwrap_or(0).saturating_add(missed)
            );
        }
        text.push('\n');
    }
    if recording.kind() == SeriesKind::Noise {
        let _ = writeln!(text, "# {NOISE}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// Parses the text like the plot scripts: rows by their first column, `#` lines separately.
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
        let recording = example::latency();
        let text = rows_with_samples(&recording);
        let (rows, comments) = read(&text);
        assert_eq!(
            rows,
            [(2, vec![12, 0]), (3, vec![11, 4]), (5, vec![0, 2]), (70, vec![1, 0])]
        );
        assert!(comments.contains(&"# Total: 000000024 000000006"));
        assert!(comments.contains(&"# Min Latencies: 00002 00003"));
        assert!(comments.contains(&"# Avg Latencies: 00004 00004"));
        assert!(comments.contains(&"# Max Latencies: 00070 00005"));
        assert!(comments.contains(&"# Thread 0 is CPU 1: expected 27 missed 3"));
        assert!(text.starts_with("# Histogram\n000002 000012\t000000\n"));
        let all = every_row(&recording);
        let (every, same) = read(&all);
        assert_eq!(same, comments);
        assert_eq!(
            every.iter().map(|row| row.0).collect::<Vec<_>>(),
            (0..=70).collect::<Vec<_>>()
        );
        assert!(rows.iter().all(|row| every.contains(row)));
    }

    #[test]
    fn no_samples_give_no_rows() {
        let text = every_row(&example::empty());
        assert!(read(&text).0.is_empty());
        assert!(text.contains("# Total: 000000000\n"));
    }

    #[test]
    fn samples_beyond_the_last_row_are_overflows() {
        let mut recording = example::latency();
        recording.series[0].buckets[3].low_ns = 1_000_000_000;
        recording.series[0].overflow = Some(4);
        let text = every_row(&recording);
        assert!(text.contains("# Histogram Overflows: 00005 00000\n"));
        assert!(text.contains("# Total: 000000023 000000006\n"));
        assert!(read(&text).0.last().expect("a row").0 == 5);
    }
}
