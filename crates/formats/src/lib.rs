//! Reads and writes formats of other tools, one file each: their files become one typed model, and a result becomes a
//! file for the user's other tools. Pure: bytes in, text out.

mod csv;
mod cyclictest;
mod error;
pub mod exposition;
mod gaps;
mod gnuplot;
mod hgrm;
mod hlog;
mod hwlat;
mod hwlatdetect;
mod jitterdebugger;
mod lines;
mod list;
mod model;
mod omissions;
mod openmetrics;
mod oslat;
mod pairs;
mod quietcore_json;
pub mod requirement;
mod rt_tests_json;
mod rtla;
mod rtla_top;
pub mod statistics;
mod stress_ng;
mod sysjitter;
mod systress;
mod tally;

pub use error::{Problem, ReadError};
pub use list::{FORMATS, ForeignFormat, FormatCapability, FormatReader, format_written, read, writer, writers};
pub use model::{
    Basis, Bucket, MeasurementStretch, Recording, Rounding, Series, SeriesKind, Spike, StatedStatistics, WakeUpPart,
};
pub use omissions::omissions;
pub use openmetrics::histograms;
pub use quietcore_json::of_measurement;
pub use systress::systress_file;

#[cfg(test)]
pub(crate) mod example {
    //! A measurement of two CPUs for the tests of all formats, parsed from JSON like a saved result.

    use crate::Recording;
    use serde_json::{Value, json};

    pub(crate) fn latency() -> Recording {
        recording(&[
            thread(1, &[(2_100, 5), (2_900, 7), (3_000, 11), (70_016, 1)], 3),
            thread(3, &[(3_999, 4), (5_000, 2)], 0),
        ])
    }

    pub(crate) fn empty() -> Recording {
        recording(&[thread(1, &[], 0)])
    }

    fn recording(threads: &[Value]) -> Recording {
        let value = json!({
            "schema": measure::SCHEMA, "kind": "latency", "started_at": "2026-01-02T03:04:05Z",
            "duration_ns": 2_000_000_000_u64, "environment": measure::Environment::default(),
            "threads": threads, "findings": [], "complete": true,
        });
        crate::of_measurement(serde_json::from_value(value).expect("a measurement"))
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
