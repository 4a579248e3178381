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
pub(crate) struct RecordingReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    file: &'a str,
    format: &'static str,
    tool: &'a str,
    version: Option<&'a str>,
    kind: SeriesKind,
    unit_ns: u64,
    started_at: Option<&'a str>,
    facts: Vec<NamedFact<'a>>,
    threads: Vec<SeriesReport<'a>>,
    findings: &'a [Note],
}

#[derive(Serialize)]
struct NamedFact<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct SeriesReport<'a> {
    name: String,
    kind: SeriesKind,
    basis: Basis,
    cpu: Option<u32>,
    thread: Option<u32>,
    part: Option<WakeUpPart>,
    /// `None` if the file does not state it.
    samples: Option<u64>,
    overflow: Option<u64>,
    missed: Option<u64>,
    stated: &'a StatedStatistics,
    computed: Statistics,
    /// Lowest value, width, count.
    histogram: Vec<[u64; 3]>,
    spikes: &'a [Spike],
    /// The periods of the series over time.
    #[serde(skip_serializing_if = "<[MeasurementStretch]>::is_empty")]
    stretches: &'a [MeasurementStretch],
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
