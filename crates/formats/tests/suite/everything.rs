//! A result with every field in every output format: each format contains each part, or reports which parts it cannot
//! hold.

use formats::{
    Basis, FormatCapability, Recording, Series, SeriesKind, format_written, omissions, read, writer, writers,
};
use serde_json::Value;
use std::path::Path;

fn fixture() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    std::fs::read_to_string(path).unwrap()
}

fn everything() -> Recording {
    read(&mut fixture().as_bytes()).unwrap()
}

fn written(format: &str) -> String {
    writer(format).unwrap()(&everything())
}

fn all(recording: &Recording) -> impl Iterator<Item = &Series> {
    recording.series.iter().flat_map(Series::with_those_beside)
}

/// Collects the leaf values of a document: path, and value as text.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| leaves(&format!("{path}.{name}"), value, found)),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(place, value)| leaves(&format!("{path}.{place}"), value, found)),
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        other => found.push((path.to_owned(), other.to_string())),
    }
}

/// A new field of a result must be added to the fixture, and then to every format.
#[test]
fn the_fixture_has_every_field_of_a_result() {
    let sources = [
        include_str!("../../../measure/src/result.rs"),
        include_str!("../../../measure/src/environment.rs"),
    ];
    let mut found = Vec::new();
    leaves("", &serde_json::from_str(&fixture()).unwrap(), &mut found);
    let mut fields = 0;
    for line in sources.iter().flat_map(|source| source.lines()) {
        let Some((name, _)) = line
            .strip_prefix("    pub ")
            .and_then(|rest| rest.split_once(": "))
            .filter(|(name, _)| !name.contains(['(', ' ']))
        else {
            continue;
        };
        fields += 1;
        let dotted = format!(".{name}");
        assert!(
            found
                .iter()
                .any(|(path, _)| path.ends_with(&dotted) || path.contains(&format!("{dotted}."))),
            "{name} is in no value of fixtures/results/everything.json"
        );
    }
    assert!(fields > 80, "{fields}");
}

#[test]
fn a_csv_table_has_every_value_and_is_read_back_identically() {
    let (first, text) = (everything(), written("csv"));
    let mut found = Vec::new();
    leaves("", &serde_json::from_str(&fixture()).unwrap(), &mut found);
    let plain = text.replace("\"\"", "\"");
    for (path, value) in found {
        let aside = path.starts_with(".activity") || path == ".schema" || path == ".duration_ns";
        if !aside && !path.ends_with(".fix") {
            assert!(plain.contains(&value), "{path}: {value}");
        }
    }
    let second = read(&mut text.as_bytes()).unwrap();
    assert_eq!(second.format, "csv");
    assert_eq!(
        (&second.tool, &second.version, &second.started_at, second.unit_ns),
        (&first.tool, &first.version, &first.started_at, first.unit_ns)
    );
    assert_eq!(second.facts, first.facts);
    assert_eq!(second.series, first.series);
    for (one, two) in first.notes.iter().zip(&second.notes) {
        assert_eq!(
            (&one.id, one.level, &one.subject, &one.message),
            (&two.id, two.level, &two.subject, &two.message)
        );
    }
    assert_eq!(second.notes.len(), first.notes.len());
    assert_eq!(writer("csv").unwrap()(&second), text, "and so it stays");
}

#[test]
fn foreign_files_survive_a_round_trip_through_csv() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(first) = read(&mut std::fs::read(&path).unwrap().as_slice()) else {
            continue;
        };
        let text = writer("csv").unwrap()(&first);
        let second = read(&mut text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(second.series, first.series, "{}", path.display());
        assert_eq!(second.facts, first.facts, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn other_bases_are_listed_separately_and_never_added() {
    let recording = everything();
    assert_eq!(recording.series.len(), 2);
    let latency = &recording.series[0];
    let counts: Vec<(&str, u64)> = latency
        .with_those_beside()
        .map(|series| (series.basis.name(), series.in_buckets()))
        .collect();
    assert_eq!(
        counts,
        [
            ("samples", 98_995),
            ("schedule", 99_295),
            ("period", 98_994),
            ("early", 17)
        ]
    );
    let due = latency.by(Basis::Schedule).unwrap();
    assert_eq!(
        due.missed,
        Some(5),
        "due, but there was no room to say how late they were"
    );
    assert_eq!(due.label(), "CPU 3 due");
}

#[test]
fn a_gnuplot_script_contains_every_value() {
    let (recording, text) = (everything(), written("gnuplot"));
    let us = |ns: u64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
    for series in all(&recording) {
        for bucket in &series.buckets {
            let row = format!("\n{} {}\n", us(bucket.low_ns), bucket.count);
            assert!(text.contains(&row), "{} {row}", series.label());
        }
        for spike in &series.spikes {
            let row = format!(" {}\n", us(spike.duration_ns));
            assert!(text.contains(&row), "{} {row}", series.label());
        }
        for stretch in &series.stretches {
            let row = format!(" {}\n", us(stretch.value_ns));
            assert!(text.contains(&row), "{} {row}", series.label());
        }
        assert!(
            text.contains(&format!("title \"{}", recording.name_of(series))),
            "{}",
            series.label()
        );
        for (name, value) in &series.facts {
            assert!(
                text.contains(&format!("# {}: {name}: {value}\n", recording.name_of(series))),
                "{name}"
            );
        }
    }
    for (name, value) in &recording.facts {
        assert!(text.contains(&format!("# {name}: {value}\n")), "{name}");
    }
    for note in &recording.notes {
        assert!(text.contains(&note.message), "{}", note.message);
    }
    // Both kinds, period, early wake-ups, values over time, and single samples: six panels with one plot each.
    assert!(text.contains("set multiplot layout 6,1"), "{text}");
    assert_eq!(text.matches("\nplot ").count(), 6);
    assert!(text.contains("title \"CPU 3 latest\"") && text.contains("title \"CPU 3 stolen\""));
    assert!(text.contains("305 missed") && text.contains("3 not recorded"));
}

#[test]
fn openmetrics_output_has_everything_but_times() {
    let (recording, text) = (everything(), written("openmetrics"));
    for series in all(&recording) {
        let count = format!(" {}\n", series.in_buckets());
        let has = text
            .split_inclusive('\n')
            .any(|line| line.contains("_count{cpu=\"3\"}") && line.ends_with(&count));
        assert!(has, "{}", series.label());
        if let Some(max) = series.stated.max_ns {
            let seconds = format!(" {}.{:09}", max / 1_000_000_000, max % 1_000_000_000);
            let line = format!("_largest_seconds{{cpu=\"3\"}}{}\n", seconds.trim_end_matches('0'));
            assert!(text.contains(&line), "{} {line}", series.label());
        }
        for (name, value) in &series.facts {
            let number = format!(",name=\"{name}\"}} {value}\n");
            let word = format!("{}=\"{value}\"", name.replace('.', "_"));
            assert!(text.contains(&number) || text.contains(&word), "{name} {value}\n{text}");
        }
    }
    for (name, value) in &recording.facts {
        let value = value.replace('"', "\\\"");
        assert!(
            text.contains(&format!("{}=\"{value}\"", name.replace('.', "_"))),
            "{name} {value}"
        );
    }
    assert!(text.contains("quietcore_wakeups_missed_total{cpu=\"3\"} 305\n"));
    assert!(text.contains("quietcore_noise_gaps_missed_total{cpu=\"3\"} 3\n"));
    assert!(text.contains("message=\"the hypervisor took 30 ms\""));
    // The lines of each metric family are contiguous, and each family has its own name.
    let types: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let mut names: Vec<&str> = types.iter().filter_map(|line| line.split(' ').next()).collect();
    let before = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), before, "{types:?}");
}

#[test]
fn an_hdr_log_has_every_histogram() {
    let (first, second) = (everything(), read(&mut written("hlog").as_bytes()).unwrap());
    let counts = |recording: &Recording| -> Vec<(SeriesKind, Option<u32>, Basis, u64)> {
        let each = all(recording).map(|series| (series.kind, series.cpu, series.basis, series.in_buckets()));
        each.collect()
    };
    assert_eq!(counts(&second), counts(&first));
    let noise = writer("hlog").unwrap();
    let mut alone = first;
    alone.series.remove(0);
    let again = read(&mut noise(&alone).as_bytes()).unwrap();
    assert_eq!(
        (again.kind(), again.series[0].cpu),
        (SeriesKind::Noise, Some(3)),
        "its comment says it"
    );
}

#[test]
fn parts_that_a_format_cannot_hold_are_reported() {
    let recording = everything();
    let parts = [
        ("the gaps of the busy loops", FormatCapability::Samples),
        ("the latency of all expected wake-ups", FormatCapability::Samples),
        ("the jitter of the period", FormatCapability::Samples),
        ("early wake-ups", FormatCapability::Samples),
        ("what the run proves", FormatCapability::Histograms),
        ("where and how it was measured", FormatCapability::Histograms),
        ("single samples with their times", FormatCapability::NoTimes),
        ("times of events", FormatCapability::NoTimes),
        (
            "what the kernel counted during the measurement",
            FormatCapability::Everything,
        ),
    ];
    let rank = |holds: FormatCapability| match holds {
        FormatCapability::Samples => 0,
        FormatCapability::Histograms => 1,
        FormatCapability::NoTimes => 2,
        FormatCapability::Everything => 3,
    };
    for format in writers() {
        let printed = omissions(format, &recording).unwrap();
        for (part, least) in parts {
            assert_eq!(
                printed.contains(part),
                rank(format.capacity) <= rank(least),
                "{}: {printed}",
                format.name
            );
        }
    }
    let mut plain = read(&mut b"# Histogram\n000001 000012\n# Total: 000000012\n".as_slice()).unwrap();
    assert_eq!(omissions(format_written("systress").unwrap(), &plain), None);
    plain.series[0].kind = SeriesKind::Noise;
    plain.series.push(everything().series.remove(0));
    assert!(
        omissions(format_written("systress").unwrap(), &plain)
            .unwrap()
            .contains("the gaps of the busy loops")
    );
}
