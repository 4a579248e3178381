//! Writes the contract `quietcore.report/1`.

use formats::statistics::{Statistics, statistics};
use formats::{Basis, MeasurementStretch, Recording, Series, SeriesKind, Spike, StatedStatistics, WakeUpPart};
use measure::Note;
use serde::Serialize;

/// The schema of a report as JSON.
pub const REPORT_SCHEMA: &str = "quietcore.report/1";

/// The schema of a comparison as JSON.
pub const COMPARE_SCHEMA: &str = "quietcore.compare/1";

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RecordingReport<'a> {
    /// Name and version of the format; absent for a file of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    /// Its name, as given by the user.
    file: &'a str,
    /// The format of the file.
    format: &'static str,
    /// The tool that wrote it.
    tool: &'a str,
    /// Version of that tool; `None` if not stated.
    version: Option<&'a str>,
    /// The kind of measurement.
    kind: SeriesKind,
    /// The unit of its numbers, in nanoseconds.
    unit_ns: u64,
    /// When the measurement started, as the file states it.
    started_at: Option<&'a str>,
    /// What the file states about the run and the machine.
    facts: Vec<NamedFact<'a>>,
    /// The series.
    threads: Vec<SeriesReport<'a>>,
    /// Conditions that limit the meaning of the numbers.
    findings: &'a [Note],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NamedFact<'a> {
    /// Its name.
    name: &'a str,
    /// Its value, as text.
    value: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SeriesReport<'a> {
    /// Its name.
    name: String,
    /// The kind of measurement.
    kind: SeriesKind,
    /// The meaning of its values.
    basis: Basis,
    /// The CPU, if stated.
    cpu: Option<u32>,
    /// Number of the thread in the file, if it has one.
    thread: Option<u32>,
    /// The part, if wake-ups are measured in parts.
    part: Option<WakeUpPart>,
    /// `None` if the file does not state it.
    samples: Option<u64>,
    /// Samples above the last bucket; `None` if not stated.
    overflow: Option<u64>,
    /// Expected wake-ups that were not measured; `None` if the tool does not count them.
    missed: Option<u64>,
    /// Statistics that the file states.
    stated: &'a StatedStatistics,
    /// Statistics computed from the histogram.
    computed: Statistics,
    /// Lowest value, width, count.
    histogram: Vec<[u64; 3]>,
    /// Samples with their times.
    spikes: &'a [Spike],
    /// The periods of the series over time.
    #[serde(skip_serializing_if = "<[MeasurementStretch]>::is_empty")]
    stretches: &'a [MeasurementStretch],
    /// What the file states about the series; absent without facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<NamedFact<'a>>,
    /// The same wake-ups on another basis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<SeriesReport<'a>>,
}

impl<'a> RecordingReport<'a> {
    pub(crate) fn of(file: &'a str, recording: &'a Recording, schema: Option<&'static str>) -> RecordingReport<'a> {
        RecordingReport {
            schema,
            file,
            format: recording.format,
            tool: &recording.tool,
            version: recording.version.as_deref(),
            kind: recording.kind(),
            unit_ns: recording.unit_ns,
            started_at: recording.started_at.as_deref(),
            facts: facts(&recording.facts),
            threads: recording
                .series
                .iter()
                .map(|series| thread(recording, series))
                .collect(),
            findings: &recording.notes,
        }
    }
}

fn facts(list: &[(String, String)]) -> Vec<NamedFact<'_>> {
    list.iter().map(|(name, value)| NamedFact { name, value }).collect()
}

fn thread<'a>(recording: &Recording, series: &'a Series) -> SeriesReport<'a> {
    SeriesReport {
        name: recording.name_of(series),
        kind: series.kind,
        basis: series.basis,
        cpu: series.cpu,
        thread: series.thread,
        part: series.part,
        samples: series.samples(),
        overflow: series.overflow,
        missed: series.missed,
        stated: &series.stated,
        computed: statistics(series),
        histogram: series
            .buckets
            .iter()
            .map(|bucket| [bucket.low_ns, bucket.width_ns, bucket.count])
            .collect(),
        spikes: &series.spikes,
        stretches: &series.stretches,
        facts: facts(&series.facts),
        beside: series.beside.iter().map(|one| thread(recording, one)).collect(),
    }
}

/// One file as JSON; `file` is its name as given by the user.
#[must_use]
pub fn recording_json<'a>(file: &'a str, recording: &'a Recording) -> impl Serialize + 'a {
    RecordingReport::of(file, recording, Some(REPORT_SCHEMA))
}
