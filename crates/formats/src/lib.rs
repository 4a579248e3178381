//! Foreign formats, one file each: a result becomes what the user's other tools read. Pure: text in, text out.

mod csv;
mod cyclictest;
mod gnuplot;

pub use csv::write as csv;
pub use cyclictest::write as cyclictest;
pub use gnuplot::write as gnuplot;

use measure::Measurement;

/// One foreign format.
pub struct Format {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// What reads it.
    pub what: &'static str,
    /// Writes a measurement in it.
    pub write: fn(&Measurement) -> String,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "cyclictest",
        what: "the histogram that cyclictest -h prints, in microseconds",
        write: cyclictest,
    },
    Format {
        name: "csv",
        what: "one line per bucket: kind,cpu,low_ns,count",
        write: csv,
    },
    Format {
        name: "gnuplot",
        what: "a gnuplot script that holds its data",
        write: gnuplot,
    },
];

/// Finds a format by its name.
#[must_use]
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
pub(crate) mod example {
    //! A measurement of two CPUs for the tests of all formats, read from JSON as a saved result is.

    use measure::Measurement;
    use serde_json::{Value, json};

    pub(crate) fn latency() -> Measurement {
        measurement(&[
            thread(1, &[(2_100, 5), (2_900, 7), (3_000, 11), (70_016, 1)], 3),
            thread(3, &[(3_999, 4), (5_000, 2)], 0),
        ])
    }

    pub(crate) fn empty() -> Measurement {
        measurement(&[thread(1, &[], 0)])
    }

    fn measurement(threads: &[Value]) -> Measurement {
        let value = json!({
            "schema": measure::SCHEMA, "kind": "latency", "started_at": "2026-01-02T03:04:05Z",
            "duration_ns": 2_000_000_000_u64, "environment": measure::Environment::default(),
            "threads": threads, "findings": [], "complete": true,
        });
        serde_json::from_value(value).expect("a measurement")
    }

    fn thread(cpu: u32, histogram: &[(u64, u64)], missed: u64) -> Value {
        let recorded: u64 = histogram.iter().map(|(_, count)| count).sum();
        json!({
            "kind": "latency", "cpu": cpu, "policy": "fifo", "priority": 80,
            "expected": recorded + missed, "recorded": recorded, "missed": missed,
            "min_ns": histogram.first().map(|(low, _)| low), "max_ns": histogram.last().map(|(low, _)| low),
            "mean_ns": histogram.first().map(|_| 4_250.5), "histogram": histogram,
            "duration_ns": 2_000_000_000_u64, "interval_ns": 1_000_000,
        })
    }
}
