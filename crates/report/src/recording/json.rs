//! Writes the contract `quietcore.report/1`.

use formats::statistics::{Statistics, statistics};
use formats::{Basis, Kind, Part, Recording, Series, Spike, Stated, Stretch};
use measure::Note;
use serde::Serialize;

/// The schema of a report as JSON.
pub const REPORT_SCHEMA: &str = "quietcore.report/1";

/// The schema of a comparison as JSON.
pub const COMPARE_SCHEMA: &str = "quietcore.compare/1";

#[derive(Serialize)]
pub(crate) struct Report<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    file: &'a str,
    format: &'static str,
    tool: &'a str,
    version: Option<&'a str>,
    kind: Kind,
    unit_ns: u64,
    started_at: Option<&'a str>,
    facts: Vec<Fact<'a>>,
    threads: Vec<Thread<'a>>,
    findings: &'a [Note],
}

#[derive(Serialize)]
struct Fact<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct Thread<'a> {
    name: String,
    kind: Kind,
    basis: Basis,
    cpu: Option<u32>,
    thread: Option<u32>,
    part: Option<Part>,
    /// `None` if the file does not state it.
    samples: Option<u64>,
    overflow: Option<u64>,
    missed: Option<u64>,
    stated: &'a Stated,
    computed: Statistics,
    /// Lowest value, width, count.
    histogram: Vec<[u64; 3]>,
    spikes: &'a [Spike],
    /// The periods of the series over time.
    #[serde(skip_serializing_if = "<[Stretch]>::is_empty")]
    stretches: &'a [Stretch],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<Fact<'a>>,
    /// The same wake-ups on another basis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<Thread<'a>>,
}

impl<'a> Report<'a> {
    pub(crate) fn of(file: &'a str, recording: &'a Recording, schema: Option<&'static str>) -> Report<'a> {
        Report {
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

fn facts(list: &[(String, String)]) -> Vec<Fact<'_>> {
    list.iter().map(|(name, value)| Fact { name, value }).collect()
}

fn thread<'a>(recording: &Recording, series: &'a Series) -> Thread<'a> {
    Thread {
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
    Report::of(file, recording, Some(REPORT_SCHEMA))
}
