//! Output of older releases, and of options that omit usual parts: oslat 1.x, `timerlat hist` before 2024, `stress-ng
//! --cyclic` without its distribution.

use crate::support::{has, recording, recording_of, refused, text};
use formats::requirement::{Requirement, RequirementOutcome, judge};
use formats::statistics::best_quantile;
use formats::writer;

/// Lowest time and width in microseconds, and count, of the first bucket of the first core.
fn first_bucket(text: &str) -> (u64, u64, u64) {
    let bucket = recording_of(text).series[0].buckets[0];
    (bucket.low_ns / 1_000, bucket.width_ns / 1_000, bucket.count)
}

#[test]
fn rows_of_oslat_1_mean_the_same_as_those_of_2_0() {
    let old = recording("oslat-1.10.txt");
    assert_eq!((old.tool.as_str(), old.version.as_deref()), ("oslat", Some("1.10")));
    let series = &old.series[0];
    assert_eq!((series.buckets[0].low_ns, series.buckets[0].high_ns()), (0, 999));
    assert_eq!((series.overflow, series.overflow_from_ns), (Some(5), 7_000));
    let note = old.notes.iter().find(|note| note.id == "integer_mhz").unwrap();
    assert!(note.message.contains("(2095, 2095)"), "{}", note.message);
}

#[test]
fn oslat_1_rounds_up_even_without_iterations_below_a_microsecond() {
    let text = text("oslat-1.10.txt");
    let slow = text
        .replace("7120334 6904411", "0 0")
        .replace("Minimum:\t 1 1", "Minimum:\t 2 2");
    assert_eq!(first_bucket(&slow), (1, 1, 3_120));
    // In a file without its beginning, the name of the frequency identifies the release.
    let (_, tail) = slow.split_once("Test completed.\n").unwrap();
    assert_eq!(first_bucket(tail), (1, 1, 3_120));
    // 2.6 uses the name of 2.x, and rounds before it selects the row.
    let newer = tail.replace("    CPU Freq", "Counter Freq");
    assert_eq!(first_bucket(&newer), (0, 1, 3_120));
}

#[test]
fn with_a_bias_the_first_row_of_oslat_contains_everything_below() {
    let biased = recording("oslat-1.10-bias.txt");
    let buckets = &biased.series[0].buckets;
    let us: Vec<(u64, u64)> = buckets
        .iter()
        .map(|bucket| (bucket.low_ns / 1_000, bucket.width_ns / 1_000))
        .collect();
    assert_eq!(us, [(0, 3), (3, 1), (4, 1), (5, 1)]);
    assert!(has(&biased, "bias"));
    assert!(biased.facts.contains(&("global bias".to_owned(), "2 (us)".to_owned())));
    // Omitted rows (`-z`) do not widen the others.
    let sparse = text("oslat-1.10-bias.txt").replace("    004 (us):\t 1120 866\n", "");
    let sparse = sparse
        .replace("    006 (us):\t 3 0\n", "")
        .replace("6 7 (us)", "5 7 (us)");
    assert_eq!(first_bucket(&sparse), (0, 3, 3_120_334));
    let wrong = text("oslat-1.10-bias.txt").replace("set to 2 (us)", "set to -2 (us)");
    let error = refused(&wrong);
    assert_eq!(
        error,
        "line 11, column 20: \"-2\" is negative, which is not possible here"
    );
}

#[test]
fn an_empty_timerlat_column_has_no_minimum() {
    let name = "rtla-timerlat-no-samples.txt";
    assert!(text(name).contains(" 18446744073709551615\n"));
    let timerlat = recording(name);
    let last = timerlat.series.last().unwrap();
    assert_eq!(last.label(), "CPU 2 user");
    let stated = &last.stated;
    assert_eq!((stated.min_ns, stated.mean_ns, stated.max_ns), (None, None, None));
    assert_eq!((last.samples(), last.overflow), (Some(0), Some(0)));
    let note = timerlat.notes.iter().find(|note| note.id == "no_samples").unwrap();
    assert_eq!(note.subject, "CPU 2 user");
    assert_eq!(timerlat.series[3].stated.min_ns, Some(1_000));
    let max = judge(last, &Requirement::new("", "max", 1_000_000).unwrap());
    assert_eq!(max.outcome, RequirementOutcome::NotShown, "{}", max.why);
    // Newer releases print `-`.
    let newer = text(name)
        .replace("18446744073709551615", "-")
        .replace("64         0\n", "64         -\n");
    assert_eq!(recording_of(&newer), timerlat);
    // Only a minimum may be so large.
    let wrong = text(name).replace("        64         0\n", "        64 18446744073709551615\n");
    let error = refused(&wrong);
    assert!(error.contains("is too large"), "{error}");
}

#[test]
fn without_a_distribution_the_sample_count_of_stress_ng_is_unknown() {
    let stress = recording("stress-ng-0.15.06-no-distribution.txt");
    let series = &stress.series[0];
    assert_eq!((series.samples(), series.stated.count), (None, None));
    assert!(has(&stress, "no_histogram"));
    let exact = best_quantile(series, 0.99).unwrap();
    assert_eq!((exact.low_ns, exact.high_ns), (63_388, Some(63_388)));
    let max = judge(series, &Requirement::new("max < 3ms", "max", 3_000_000).unwrap());
    assert_eq!(max.outcome, RequirementOutcome::Held);
    assert_eq!(
        max.why,
        "the largest sample is at most 2859998 ns; the file does not state how many samples there were"
    );
    // No output format may claim that there were no samples.
    let text = writer("openmetrics").unwrap()(&stress);
    assert!(!text.contains("_count") && text.contains("largest_seconds"), "{text}");
    let json = writer("cyclictest-json").unwrap()(&stress);
    assert!(!json.contains("\"cycles\""), "{json}");
}

#[test]
fn a_file_that_shows_no_sample_has_none() {
    let quiet = recording_of("# tracer: hwlat\n#\n");
    assert!(quiet.series.is_empty() && has(&quiet, "no_samples"));
    let raw = recording_of("# cpu_mhz: 2597\n# n_interruptions: 0\n");
    assert_eq!(raw.series[0].samples(), Some(0));
}
