//! Output files of the real tools, read back: every stated statistic is compared with the one computed from the file's
//! own histogram.

use crate::support::{folder, has, recording};
use formats::statistics::{best_mean_ns, mean_ns, quantile, statistics};
use formats::{Recording, Series, SeriesKind, WakeUpPart};
use std::collections::BTreeSet;
use std::fs;

/// Checks that the stated values of a series agree with its buckets, within the rounding of the file.
fn agrees(name: &str, recording: &Recording, series: &Series) {
    let unit = recording.unit_ns;
    let whole = series.overflow == Some(0) && !series.buckets.is_empty();
    let stated = &series.stated;
    if let (true, Some(count)) = (series.overflow.is_some(), stated.count) {
        assert_eq!(count, series.in_buckets() + series.overflow.unwrap(), "{name}: samples");
    }
    if let (Some(min), Some(first)) = (stated.min_ns, series.buckets.first()) {
        let omitted = has(recording, "rows_omitted");
        let (from, to) = series.meant(min);
        assert!(
            omitted || (first.low_ns <= to && from <= first.high_ns()),
            "{name}: smallest"
        );
    }
    let Some(last) = series.buckets.last() else { return };
    if let Some(max) = stated.max_ns {
        let (from, to) = series.meant(max);
        if whole {
            assert!(last.low_ns <= to && from <= last.high_ns(), "{name}: largest");
        } else {
            assert!(last.low_ns <= to, "{name}: the largest is below the histogram");
        }
    }
    if let (true, Some(mean)) = (whole, stated.mean_ns) {
        let low = mean_ns(series).unwrap();
        let most = low + statistics(series).mean_uncertainty_ns.unwrap();
        // Means are truncated to a unit, or rounded to a hundredth of it.
        let (down, up) = (mean - unit as f64 / 100.0, mean + unit as f64);
        assert!(low <= up && most >= down, "{name}: mean {mean}, ours {low} to {most}");
    }
    for (share, value) in &stated.quantiles {
        if let (true, Some(span)) = (whole, quantile(series, *share)) {
            assert!(
                span.low_ns <= *value && *value <= span.high_ns.unwrap(),
                "{name}: {share}"
            );
        }
    }
}

#[test]
fn stated_statistics_agree_with_the_histogram_of_each_file() {
    let mut seen = 0;
    let mut read = BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "README.md" || name.contains("refused") {
            continue;
        }
        let recording = recording(&name);
        assert!(!recording.series.is_empty(), "{name}");
        assert!(
            !has(&recording, "sums_differ") && !has(&recording, "truncated"),
            "{name}: {:?}",
            recording.notes
        );
        for series in &recording.series {
            agrees(&name, &recording, series);
        }
        let format = formats::FORMATS
            .iter()
            .find(|format| format.name == recording.format)
            .unwrap();
        assert!(
            name.starts_with(&recording.tool.to_lowercase()) || format.name == "rtla",
            "{name}: {}",
            recording.tool
        );
        read.insert(format.name);
        seen += 1;
    }
    assert!(seen >= 30, "{seen} files");
    // Round trips test our own two formats.
    let readers = formats::FORMATS.iter().filter(|format| format.reader.is_some());
    for format in readers.filter(|format| !["json", "csv"].contains(&format.name)) {
        assert!(
            read.contains(format.name),
            "fixtures/foreign has no file of {}",
            format.name
        );
    }
}

/// Every file matches only the format that it is read as, so the order of the formats does not matter.
#[test]
fn every_file_looks_like_exactly_one_format() {
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let like: Vec<&str> = formats::FORMATS
            .iter()
            .filter(|format| format.reader.as_ref().is_some_and(|reader| (reader.looks_like)(&text)))
            .map(|format| format.name)
            .collect();
        let wanted = usize::from(path.file_name().unwrap() != "README.md");
        assert_eq!(like.len(), wanted, "{}: {like:?}", path.display());
    }
}

/// Returns the numbers on a line of the file, read without the parser.
fn line(name: &str, start: &str) -> Vec<u64> {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(start)).unwrap();
    line.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

#[test]
fn cyclictest_files_with_a_sum_column_are_read() {
    let name = "cyclictest-2.4-H.txt";
    let recording = recording(name);
    assert_eq!(recording.series.len(), 2);
    let totals = line(name, "# Total:");
    let overflows = line(name, "# Histogram Overflows:");
    let largest = line(name, "# Max Latencies:");
    for (place, series) in recording.series.iter().enumerate() {
        assert_eq!(
            (series.thread, series.cpu, series.kind),
            (u32::try_from(place).ok(), None, SeriesKind::Latency)
        );
        assert_eq!(series.in_buckets(), totals[place]);
        assert_eq!(series.overflow, Some(overflows[place]));
        assert_eq!(series.overflow_from_ns, 100_000);
        assert_eq!(series.stated.max_ns, Some(largest[place] * 1_000));
        assert_eq!(series.missed, None);
        // Above the histogram only the maximum is known.
        let span = quantile(series, 0.999).unwrap();
        assert_eq!(
            (span.low_ns, span.high_ns),
            (100_000, Some(largest[place] * 1_000 + 999))
        );
    }
    for id in ["overflow", "missed_not_counted", "unit_not_stated", "mean_truncated"] {
        assert!(has(&recording, id), "{id}");
    }
}

#[test]
fn cyclictest_rows_are_identified_by_their_first_column() {
    let recording = recording("cyclictest-2.7-H.txt");
    let lows: Vec<u64> = recording.series[0]
        .buckets
        .iter()
        .map(|bucket| bucket.low_ns / 1_000)
        .collect();
    assert_eq!(lows, [2, 3, 4, 11]);
    assert_eq!(recording.series[1].in_buckets(), 982);
}

#[test]
fn files_without_a_histogram_have_no_percentiles() {
    let quiet = recording("cyclictest-2.4-q.txt");
    assert!(has(&quiet, "no_histogram"));
    let text = fs::read_to_string(folder().join("cyclictest-2.4-q.txt")).unwrap();
    for (series, line) in quiet.series.iter().zip(text.lines().skip(1)) {
        assert!(
            line.contains(&format!("C:{:7} ", series.stated.count.unwrap())),
            "{line}"
        );
        assert!(
            line.ends_with(&format!("Max:{:8}", series.stated.max_ns.unwrap() / 1_000)),
            "{line}"
        );
        assert_eq!((quantile(series, 0.5), mean_ns(series)), (None, None));
        assert_eq!(best_mean_ns(series), series.stated.mean_ns);
    }
    let spikes = recording("cyclictest-2.4-spike.txt");
    let (first, count) = (spikes.series[0].spikes[0], spikes.series[0].spikes.len());
    assert_eq!(
        (first.duration_ns, first.at_ns, count),
        (160_000, 64_915_147_441_000, 24)
    );
    let live = recording("cyclictest-2.4-live.txt");
    assert_eq!(live.series[0].stated.count, Some(60));
    let single = recording("cyclictest-2.4-v.txt");
    assert_eq!(
        single.series.iter().map(Series::samples).collect::<Vec<_>>(),
        [Some(40), Some(29)]
    );
    assert_eq!(single.series[0].cpu, Some(1));
}

#[test]
fn the_unit_of_nanoseconds_is_known_only_in_json() {
    let json = recording("cyclictest-2.4-N.json");
    assert_eq!((json.unit_ns, json.version.as_deref()), (1, Some("2.40")));
    assert!(json.series[0].stated.min_ns.unwrap() < 1_000_000);
    let text = recording("cyclictest-2.4-N.txt");
    let unit = text.notes.iter().find(|note| note.id == "unit_not_stated").unwrap();
    assert_eq!(
        unit.level,
        measure::NoteLevel::Warning,
        "values of milliseconds are suspect"
    );
}

#[test]
fn oslat_json_and_text_give_the_same_result() {
    let json = recording("oslat-2.4.json");
    assert_eq!((json.kind(), json.tool.as_str()), (SeriesKind::Noise, "oslat"));
    let series = &json.series[0];
    assert_eq!(
        (series.cpu, series.overflow, series.overflow_from_ns),
        (Some(1), Some(414), 31_000)
    );
    assert_eq!(series.buckets[0].high_ns(), 999);
    assert_eq!(series.buckets[0].count, 40_017_298);
    let text = recording("oslat-2.4.txt");
    let cpus: Vec<Option<u32>> = text.series.iter().map(|series| series.cpu).collect();
    assert_eq!(cpus, [Some(0), Some(1)]);
    assert_eq!(text.series[1].overflow, Some(line("oslat-2.4.txt", "032 (us):")[1]));
    assert_eq!(text.series[0].stated.duration_ns, Some(2_007_000_000));
    let note = text.notes.iter().find(|note| note.id == "integer_mhz").unwrap();
    assert!(note.message.contains("(2597, 2604)"), "{}", note.message);
    assert_eq!(recording("oslat-2.4-z.txt").series[0].overflow, Some(240));
}

/// Rows are named by their upper ends. 2.6 rounds a time up before it selects the row; 2.10 truncates extremes.
#[test]
fn rows_of_oslat_depend_on_its_version() {
    let first = |name: &str| {
        let series = recording(name).series.remove(0);
        let (bucket, max) = (series.buckets[0], series.stated.max_ns.unwrap());
        let meant = series.meant(max);
        ((bucket.low_ns, bucket.width_ns), (max - meant.0, meant.1 - max))
    };
    // In all files the first row with samples contains the turns of the loop, about 24 ns each.
    assert_eq!(first("oslat-2.4.txt"), ((0, 1_000), (999, 0)));
    for name in ["oslat-2.6.txt", "oslat-2.6.json"] {
        assert_eq!(first(name), ((0, 1_000), (999, 0)), "{name}");
    }
    for name in ["oslat-2.10.txt", "oslat-2.10.json"] {
        assert_eq!(first(name), ((0, 1_000), (0, 999)), "{name}");
    }
    for name in ["oslat-2.10-W500.txt", "oslat-2.10-W500.json"] {
        let recording = recording(name);
        assert_eq!(recording.unit_ns, 1, "{name}");
        let series = &recording.series[0];
        assert_eq!(
            (series.buckets[1].low_ns, series.buckets[1].width_ns),
            (500, 500),
            "{name}"
        );
        assert_eq!((series.overflow, series.overflow_from_ns), (Some(637), 9_500), "{name}");
        assert_eq!(
            (series.stated.min_ns, series.stated.max_ns),
            (Some(23), Some(643_562_991)),
            "{name}"
        );
        assert_eq!(series.stated.mean_ns.map(f64::round), Some(118_237.0), "{name}");
    }
    let wide = recording("oslat-2.10-W1000000.txt");
    let quiet = &wide.series[0];
    assert_eq!(quiet.overflow, Some(0), "the last row is empty");
    let (max, last) = (quiet.stated.max_ns.unwrap(), quiet.buckets.last().unwrap());
    assert_eq!((last.width_ns, max / 1_000_000), (1_000_000, last.low_ns / 1_000_000));
    // The tool's own mean uses the upper end of each row, so ours is lower by that much.
    let upper: f64 = quiet
        .buckets
        .iter()
        .map(|bucket| (bucket.low_ns + bucket.width_ns) as f64 * bucket.count as f64)
        .sum();
    let mean = upper / quiet.in_buckets() as f64;
    assert!((mean - quiet.stated.mean_ns.unwrap()).abs() <= 1.0, "{mean}");
}

#[test]
fn rtla_histograms_have_parts_and_bucket_widths() {
    let timerlat = recording("rtla-timerlat.txt");
    let parts: Vec<Option<WakeUpPart>> = timerlat.series.iter().take(3).map(|series| series.part).collect();
    assert_eq!(
        parts,
        [Some(WakeUpPart::Irq), Some(WakeUpPart::Thread), Some(WakeUpPart::User)]
    );
    assert_eq!(timerlat.series[2].label(), "CPU 1 user");
    assert_eq!(timerlat.series[5].overflow, Some(2));
    let osnoise = recording("rtla-osnoise.txt");
    assert_eq!(
        (osnoise.kind(), osnoise.series[0].buckets[1].width_ns),
        (SeriesKind::Noise, 10_000)
    );
    assert!(has(&osnoise, "width_not_stated"));
    assert_eq!(recording("rtla-timerlat-7.txt").series.len(), 4);
}

#[test]
fn the_systress_output_of_the_article_is_read_with_its_gap() {
    let article = recording("systress-article.txt");
    let series = &article.series[0];
    assert_eq!((series.in_buckets(), series.overflow), (50_318, None));
    assert_eq!(series.stated.median_ns, Some(17_000));
    assert!(has(&article, "rows_omitted"));
    assert_eq!(quantile(series, 0.5), None, "what was left out may be anywhere");
    let whole = recording("systress.txt");
    let found = statistics(&whole.series[0]);
    let us = |span: Option<formats::statistics::ValueRange>| span.unwrap().low_ns;
    assert_eq!(
        (whole.series[0].overflow, us(found.mode), us(found.quantiles[0].value)),
        (Some(3), 2_000, 2_000)
    );
}

#[test]
fn files_of_other_tools_are_read() {
    let jitter = recording("jitterdebugger-0.3.json");
    assert_eq!(
        jitter.facts.iter().find(|(name, _)| name == "machine").unwrap().1,
        "x86_64"
    );
    let samples = recording("jitterdebugger-samples.txt");
    assert_eq!(samples.series[1].spikes[2].at_ns, 1_114_937_455_101);
    let raw = recording("sysjitter-1.4.raw.1");
    assert_eq!(raw.series[0].spikes.last().unwrap().duration_ns, 8_867_882);
    assert_eq!(raw.series[0].buckets.len(), 6);
    let hwlat = recording("hwlat.txt");
    assert_eq!(
        hwlat.series.iter().map(|series| series.cpu).collect::<Vec<_>>(),
        [Some(1), Some(4), Some(5)]
    );
    assert_eq!(hwlat.series[0].spikes[0].duration_ns, 12_000);
    assert!(has(&hwlat, "nmi"));
    let log = recording("hdrhistogram-7.6.hlog");
    assert_eq!(log.series[0].cpu, Some(3));
    assert_eq!(log.series[0].buckets.last().unwrap().high_ns(), 1_766_399);
    let stress = recording("stress-ng-0.15.06.txt");
    let series = &stress.series[0];
    assert_eq!(
        (series.stated.count, series.stated.mode_ns),
        (Some(10_000), Some(20_368))
    );
    assert_eq!(series.overflow, Some(10_000 - series.in_buckets()));
    assert!(has(&stress, "samples_lost") && has(&stress, "rows_omitted"));
    // The stated median is within our range.
    let span = quantile(series, 0.5).unwrap();
    assert!(span.low_ns <= 20_288 && 20_288 <= span.high_ns.unwrap());
}

#[test]
fn the_longer_gap_of_an_hwlat_sample_counts() {
    let (name, recording) = ("hwlat.txt", recording("hwlat.txt"));
    let text = fs::read_to_string(folder().join(name)).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|line| line.contains("inner/outer(us):")) {
        let cpu: u32 = line.split(['[', ']']).nth(1).unwrap().parse().unwrap();
        let behind = line.split("inner/outer(us):").nth(1).unwrap();
        let pair: Vec<u64> = behind
            .split_whitespace()
            .next()
            .unwrap()
            .split('/')
            .map(|word| word.parse().unwrap())
            .collect();
        let series = recording.series.iter().find(|series| series.cpu == Some(cpu)).unwrap();
        let longest = pair.iter().max().unwrap() * 1_000;
        assert!(
            series.spikes.iter().any(|spike| spike.duration_ns == longest),
            "{name}: {line}"
        );
        seen += 1;
    }
    let ours: usize = recording.series.iter().map(|series| series.spikes.len()).sum();
    assert_eq!(ours, seen, "{name}");
}
