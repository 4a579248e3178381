//! Comma-separated values, one line per bucket, for spreadsheets and data frames.

use measure::{Kind, Measurement};
use std::fmt::Write as _;

/// Writes `kind,cpu,low_ns,count`; every bucket of every thread, exactly as in the result.
#[must_use]
pub fn write(measurement: &Measurement) -> String {
    let mut text = String::from("kind,cpu,low_ns,count\n");
    for thread in &measurement.threads {
        let kind = match thread.kind {
            Kind::Latency | Kind::All => "latency",
            Kind::Noise => "noise",
        };
        for (low_ns, count) in &thread.histogram {
            let _ = writeln!(text, "{kind},{},{low_ns},{count}", thread.cpu);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::example;

    #[test]
    fn reads_back_as_the_same_buckets() {
        let measurement = example::latency();
        let text = super::write(&measurement);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("kind,cpu,low_ns,count"));
        let read: Vec<(u32, u64, u64)> = lines
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                assert_eq!((fields.len(), fields[0]), (4, "latency"));
                let number = |place: usize| fields[place].parse::<u64>().expect("a number");
                (u32::try_from(number(1)).expect("a CPU"), number(2), number(3))
            })
            .collect();
        let wanted: Vec<(u32, u64, u64)> = measurement
            .threads
            .iter()
            .flat_map(|thread| {
                thread
                    .histogram
                    .iter()
                    .map(|(low, count)| (thread.cpu.0, *low, *count))
            })
            .collect();
        assert_eq!(read, wanted);
    }
}
