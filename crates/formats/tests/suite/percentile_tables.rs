//! HdrHistogram's percentile tables: counts between values, stated statistics, and invalid tables.

use crate::support::{ids, outcome, recording, recording_of, refused};
use formats::requirement::RequirementOutcome;
use formats::statistics::best_quantile;

#[test]
fn a_percentile_table_gives_counts_and_stated_statistics() {
    let found = recording("hdrhistogram-wrk2.hgrm");
    let series = &found.series[0];
    let counts: Vec<u64> = series.buckets.iter().map(|bucket| bucket.count).collect();
    assert_eq!(counts, [1, 8_624, 34_495, 34_490, 8_623]);
    assert_eq!((series.samples(), series.overflow), (Some(86_233), Some(0)));
    assert_eq!(series.buckets[4].high_ns(), 49_320_000_000);
    assert_eq!(series.stated.quantiles[1], (0.5, 28_475_391_000));
    assert_eq!(
        (series.stated.max_ns, series.stated.mean_ns),
        (Some(49_320_000_000), Some(28_490_000_000.0))
    );
    // The file states the median. Above 90 % it states nothing, and the counts give the range.
    let exact = best_quantile(series, 0.5).unwrap();
    assert_eq!((exact.low_ns, exact.high_ns), (28_475_391_000, Some(28_475_391_999)));
    let between = best_quantile(series, 0.99).unwrap();
    assert_eq!(
        (between.low_ns, between.high_ns),
        (44_990_000_001, Some(49_320_000_000))
    );
    assert_eq!(outcome(series, "p90", 44_990_001_000), RequirementOutcome::Held);
    assert_eq!(outcome(series, "p99", 44_000_000_000), RequirementOutcome::Violated);
    assert_eq!(outcome(series, "p99", 47_000_000_000), RequirementOutcome::NotShown);
    let note = found.notes.iter().find(|note| note.id == "unit_not_stated").unwrap();
    assert_eq!(note.level, measure::NoteLevel::Warning);
}

#[test]
fn a_percentile_table_survives_a_round_trip_through_csv() {
    let found = recording("hdrhistogram-wrk2.hgrm");
    let again = recording_of(&formats::writer("csv").unwrap()(&found));
    assert_eq!(again.series[0].stated, found.series[0].stated);
    assert_eq!(again.series[0].buckets, found.series[0].buckets);
}

const HEAD: &str = "       Value   Percentile   TotalCount 1/(1-Percentile)\n\n";

const USUAL: [&str; 2] = ["unit_not_stated", "percentiles_only"];

#[test]
fn rows_become_buckets_that_end_at_their_values() {
    // Java prints a value twice if two percentiles have it, and omits the fourth column of the last row.
    let text = format!(
        "{HEAD}0.2 0.0 2 1.00\n0.2 0.5 2 2.00\n0.75 0.9 9 10.00\n1.5 1.0 10\n\
         #[Mean = 0.71, StdDeviation = 0.3]\n#[Max = 1.5, Total count = 10]\n#[Buckets = 27, SubBuckets = 2048]\n\
         anything below\n"
    );
    let recording = recording_of(&text);
    assert_eq!((recording.unit_ns, ids(&recording)), (10_000, USUAL.to_vec()));
    let series = &recording.series[0];
    let found: Vec<(u64, u64, u64)> = series
        .buckets
        .iter()
        .map(|bucket| (bucket.low_ns, bucket.high_ns(), bucket.count))
        .collect();
    let least = 200_000 - 200_000 / 1_024;
    assert_eq!(
        found,
        [(least, 200_000, 2), (200_001, 750_000, 7), (750_001, 1_500_000, 1)]
    );
    assert_eq!((series.samples(), series.overflow), (Some(10), Some(0)));
    assert_eq!(series.stated.quantiles, [(0.5, 200_000), (0.9, 750_000)]);
    assert_eq!(
        (series.stated.mean_ns, series.stated.max_ns),
        (Some(710_000.0), Some(1_500_000))
    );
}

#[test]
fn the_table_in_the_output_of_wrk2_is_found() {
    let text = format!(
        "Running 10s test\n 50.000%    1.70ms\n  Detailed Percentile spectrum:\n{HEAD}\
         1.0 0.0 1 1.00\n2.0 1.0 4 inf\n#[Mean = 1.0, StdDeviation = 0.1]\n----------\nRequests/sec: 5\n"
    );
    assert_eq!(recording_of(&text).series[0].in_buckets(), 4);
    // A run without any response.
    let text =
        format!("{HEAD}0.000 1.000000 0 inf\n#[Mean = -nan, StdDeviation = -nan]\n#[Max = 0.000, Total count = 0]\n");
    let recording = recording_of(&text);
    let series = &recording.series[0];
    assert_eq!(
        (series.samples(), series.stated.max_ns, series.stated.mean_ns),
        (Some(0), None, None)
    );
    assert_eq!(ids(&recording)[0], "no_samples");
}

#[test]
fn a_truncated_or_inconsistent_table_is_reported() {
    let cut = format!("{HEAD}0.2 0.0 2 1.00\n0.75 0.9 9 10.00\n");
    let recording = recording_of(&cut);
    assert_eq!((ids(&recording)[0], recording.series[0].overflow), ("truncated", None));
    let cut = format!("{cut}#[Max = 1.5, Total count = 10]\n");
    assert_eq!(ids(&recording_of(&cut))[0], "truncated");
    let differs = cut.replace("count = 10", "count = 8");
    assert_eq!(ids(&recording_of(&differs))[0], "sums_differ");
    // Without the first row the minimum is not known to be near.
    let cut = format!("{HEAD}0.75 0.9 9 10.00\n1 1 10 inf\n#[Buckets = 27, SubBuckets = 2048]\n");
    assert_eq!(recording_of(&cut).series[0].buckets[0].low_ns, 0);
}

#[test]
fn invalid_rows_are_reported_with_their_position() {
    for (rows, wanted) in [
        ("", "no row of the table"),
        ("1.0 0.0\n", "line 3, column 1: 2 columns instead of 4"),
        ("1,5 0.0 1 1.0\n", "line 3, column 1: \"1,5\" is not a number"),
        ("-1.5 0.0 1 1.0\n", "line 3, column 1: \"-1\" is negative"),
        ("1. 0.0 1 1.0\n", "line 3, column 1: \"1.\""),
        ("1.5 1.1 1 1.0\n", "line 3, column 1: \"1.1\" is too large"),
        (
            "1.5 0.1 5 1.0\n1.4 0.2 6 1.0\n",
            "line 4, column 1: the row \"1.4\" comes after a higher one",
        ),
        (
            "1.5 0.1 5 1.0\n1.6 0.2 4 1.0\n",
            "line 4, column 1: the row \"1.6\" comes after a higher one",
        ),
        (
            "1.5 1.0 5 inf\n1.6 1.0 6 inf\n",
            "line 4, column 1: the row \"1.6\" comes after a higher one",
        ),
        ("99999999999999.0 0.1 5 1.0\n", "is too large"),
        ("1.5 nan 5 1.0\n", "line 3, column 5: \"nan\" is not a number"),
        ("#[Mean = x]\n", "line 3, column 10: \"x\" is not a number"),
    ] {
        let error = refused(&format!("{HEAD}{rows}"));
        assert!(error.contains(wanted), "{rows}: {error}");
    }
    let twice = format!("{HEAD}1.5 1.0 5 inf\n{HEAD}");
    assert!(refused(&twice).contains("line 4, column 8: the row"));
}
