//! hwlatdetect: settings and samples in the formats of both detectors, and what such a run cannot show.

use crate::support::{fact, has, ids, outcome, recording, recording_of, refused};
use formats::requirement::RequirementOutcome;
use formats::{Recording, SeriesKind};

#[test]
fn output_of_hwlatdetect_with_the_tracer_is_read() {
    let found = recording("hwlatdetect-tracer.txt");
    assert_eq!(
        (found.kind(), found.tool.as_str(), found.unit_ns),
        (SeriesKind::Noise, "hwlatdetect", 1_000)
    );
    let series = &found.series[0];
    assert_eq!(
        (series.cpu, series.samples(), series.overflow),
        (None, Some(5), Some(0))
    );
    assert_eq!(series.stated.max_ns, Some(48_000));
    assert_eq!(
        series.stated.duration_ns, None,
        "half of the time was watched, and one gap of each window is known"
    );
    assert_eq!(fact(&found.facts, "test duration"), "900 seconds");
    // The longer of both gaps counts.
    let spikes: Vec<(u64, u64)> = series
        .spikes
        .iter()
        .map(|spike| (spike.at_ns, spike.duration_ns))
        .collect();
    assert_eq!(spikes[0], (1_646_837_340_346_151_918, 9_000));
    let us: Vec<u64> = spikes.iter().map(|(_, duration_ns)| duration_ns / 1_000).collect();
    assert_eq!(us, [9, 46, 45, 9, 48]);
    assert_eq!(fact(&found.facts, "latency threshold"), "0us");
    assert_eq!(fact(&found.facts, "smis during run"), "0");
    assert!(!has(&found, "smi") && !has(&found, "sums_differ"));
    let note = found.notes.iter().find(|note| note.id == "longest_of_window").unwrap();
    assert!(note.message.contains("500000us of each 1000000us"), "{}", note.message);
    assert_eq!(outcome(series, "max", 48_000), RequirementOutcome::Violated);
    assert_eq!(outcome(series, "max", 49_000), RequirementOutcome::Held);
    assert_eq!(
        outcome(series, "p99", 50_000),
        RequirementOutcome::NotShown,
        "5 samples"
    );
}

#[test]
fn nanoseconds_of_the_hwlatdetect_module_have_ten_digits() {
    let found = recording("hwlatdetect-module.txt");
    let series = &found.series[0];
    let spikes: Vec<(u64, u64)> = series
        .spikes
        .iter()
        .map(|spike| (spike.at_ns, spike.duration_ns))
        .collect();
    assert_eq!(
        spikes,
        [
            (1_408_928_107_286_324_723, 18_000),
            (1_408_928_180_296_881_126, 21_000),
            (1_408_928_212_300_332_889, 18_000)
        ]
    );
    assert_eq!((series.samples(), series.stated.max_ns), (Some(3), Some(21_000)));
}

#[test]
fn without_samples_hwlatdetect_shows_only_its_threshold() {
    let found = recording("hwlatdetect-none.txt");
    let series = &found.series[0];
    assert_eq!((series.samples(), series.stated.max_ns), (Some(0), None));
    let note = found.notes.iter().find(|note| note.id == "no_samples").unwrap();
    assert!(note.message.contains("above 10us"), "{}", note.message);
    assert_eq!(outcome(series, "max", 1_000_000), RequirementOutcome::NotShown);
}

#[test]
fn nanoseconds_are_parsed_in_both_sample_formats() {
    // The module prints nanoseconds with ten digits, the tracer prints them as a fraction.
    let module = recording_of("hwlatdetect:  test duration 1 seconds\n7.0286324723\t18\t17\n8.0000000001\t3\n");
    let at = |recording: &Recording| -> Vec<(u64, u64)> {
        let spikes = recording.series[0].spikes.iter();
        spikes.map(|spike| (spike.at_ns, spike.duration_ns)).collect()
    };
    assert_eq!(at(&module), [(7_286_324_723, 18_000), (8_000_000_001, 3_000)]);
    // The file of `--report` has only samples.
    let report = recording_of("ts: 7.28632472, inner:5, outer:9\n");
    assert_eq!(at(&report), [(7_286_324_720, 9_000)]);
    assert_eq!(report.series[0].samples(), Some(1));
}

#[test]
fn omitted_samples_are_counted_and_not_invented() {
    let head = "hwlatdetect:  test duration 10 seconds\nMax Latency: 48us\nSamples recorded: 5\n";
    let recording = recording_of(head);
    assert_eq!(ids(&recording), ["rows_omitted", "longest_of_window"]);
    let series = &recording.series[0];
    assert_eq!((series.samples(), series.overflow), (Some(5), None));
    assert_eq!(series.stated.max_ns, Some(48_000));
    let more = format!("{head}1.1\t49\n").replace("recorded: 5", "recorded: 1");
    assert_eq!(ids(&recording_of(&more)), ["sums_differ", "longest_of_window"]);
    let less = more.replace("recorded: 1", "recorded: 0");
    assert_eq!(ids(&recording_of(&less)), ["sums_differ", "longest_of_window"]);
}

#[test]
fn smis_and_unreadable_smi_counts_are_reported() {
    let text = "hwlatdetect:  test duration 10 seconds\nrdmsr: CPU 0 cannot read MSR 0x00000034\n\
        3 SMIs occured on cpu 1\nSMIs during run: 3\n";
    assert_eq!(
        ids(&recording_of(text)),
        ["no_samples", "smi", "smi_unreadable", "longest_of_window"]
    );
}

#[test]
fn invalid_lines_are_reported_with_their_position() {
    for (text, wanted) in [
        ("hwlatdetect:\n1.1\n", "line 2, column 1: 1 columns instead of 3"),
        ("hwlatdetect:\n1.1 2 3 4\n", "line 2, column 1: 4 columns instead of 3"),
        (
            "ts: 1.x, inner:5, outer:9\n",
            "line 1, column 5: \"1.x\" is not a number",
        ),
        ("ts: 1.1, inner:5, outer:-9\n", "line 1, column 25: \"-9\" is negative"),
        (
            "hwlatdetect:\n1.1 18446744073709551615\n",
            "line 2, column 5: \"18446744073709551615\" is too large",
        ),
        ("hwlatdetect:\n18446744073.18446744073709551615 1\n", "is too large"),
        (
            "hwlatdetect:\nts: 1.1, inner:5\n",
            "line 2, column 1: \"ts: 1.1, inner:5\" is not expected here",
        ),
        (
            "hwlatdetect:\nMax Latency: xus\n",
            "line 2, column 14: \"x\" is not a number",
        ),
        (
            "hwlatdetect: test duration 1 s\nhwlatdetect: test duration 1 s\n",
            "line 2, column 1: the row \"hwlatdetect: test duration 1 s\" comes",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(wanted), "{text}: {error}");
    }
}
