//! Comma-separated values, one line per bucket, for spreadsheets and data frames.

use crate::model::{Kind, Part, Recording};
use std::fmt::Write as _;

/// Writes `kind,cpu,thread,part,low_ns,width_ns,count`; every bucket of every series. What is unknown is empty, and what
/// was above the buckets is a line without a width.
#[must_use]
pub fn write(recording: &Recording) -> String {
    let mut text = String::from("kind,cpu,thread,part,low_ns,width_ns,count\n");
    for series in &recording.series {
        let kind = match series.kind {
            Kind::Latency => "latency",
            Kind::Noise => "noise",
        };
        let part = match series.part {
            None => "",
            Some(Part::Irq) => "irq",
            Some(Part::Thread) => "thread",
            Some(Part::User) => "user",
        };
        let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        let start = format!("{kind},{},{},{part}", number(series.cpu), number(series.thread));
        for bucket in &series.buckets {
            let _ = writeln!(
                text,
                "{start},{},{},{}",
                bucket.low_ns, bucket.width_ns, bucket.count
            );
        }
        if let Some(overflow) = series.overflow.filter(|count| *count > 0) {
            let _ = writeln!(text, "{start},{},,{overflow}", series.overflow_from_ns);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::example;

    #[test]
    fn reads_back_as_the_same_buckets() {
        let mut recording = example::latency();
        recording.series[1].overflow = Some(7);
        recording.series[1].overflow_from_ns = 9_000;
        let text = super::write(&recording);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("kind,cpu,thread,part,low_ns,width_ns,count"));
        let read: Vec<(u32, u64, Option<u64>, u64)> = lines
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                assert_eq!(
                    (fields.len(), fields[0], fields[2], fields[3]),
                    (7, "latency", "", "")
                );
                let number = |place: usize| fields[place].parse::<u64>().expect("a number");
                let width = (!fields[5].is_empty()).then(|| number(5));
                (
                    u32::try_from(number(1)).expect("a CPU"),
                    number(4),
                    width,
                    number(6),
                )
            })
            .collect();
        let mut wanted: Vec<(u32, u64, Option<u64>, u64)> = recording
            .series
            .iter()
            .flat_map(|series| {
                let bucket = |bucket: &crate::Bucket| {
                    (
                        series.cpu.expect("a CPU"),
                        bucket.low_ns,
                        Some(bucket.width_ns),
                        bucket.count,
                    )
                };
                series.buckets.iter().map(bucket)
            })
            .collect();
        wanted.push((3, 9_000, None, 7));
        assert_eq!(read, wanted);
    }
}
