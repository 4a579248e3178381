//! Latency results of other tools: every reader of a foreign format, and everything that is made of a result.

use super::FuzzTarget;
use formats::statistics::statistics;

/// Files that the tools themselves wrote.
macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(include_bytes!(concat!("../../fixtures/foreign/", $name))),+]
    };
}

const FILES: &[&[u8]] = files![
    "cyclictest-2.4-H.txt",
    "cyclictest-2.4-live.txt",
    "cyclictest-2.4-q.txt",
    "cyclictest-2.4-spike.txt",
    "cyclictest-2.4-v.txt",
    "cyclictest-2.4.json",
    "cyclictest-2.7-H.txt",
    "hdrhistogram-7.6.hlog",
    "hdrhistogram-wrk2.hgrm",
    "hwlat.txt",
    "hwlatdetect-module.txt",
    "hwlatdetect-none.txt",
    "hwlatdetect-tracer.txt",
    "jitterdebugger-0.3.json",
    "jitterdebugger-samples.txt",
    "oslat-1.10-bias.txt",
    "oslat-1.10.txt",
    "oslat-2.4-z.txt",
    "oslat-2.4.json",
    "oslat-2.4.txt",
    "quietcore-gaps.csv",
    "rtla-osnoise-top.txt",
    "rtla-osnoise.txt",
    "rtla-timerlat-7.txt",
    "rtla-timerlat-no-samples.txt",
    "rtla-timerlat-top.txt",
    "rtla-timerlat.txt",
    "stress-ng-0.15.06-no-distribution.txt",
    "stress-ng-0.15.06.txt",
    "sysjitter-1.4.raw.1",
    "systress-article.txt",
    "systress.txt",
];

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "foreign_results",
    seeds: || FILES.iter().map(|file| file.to_vec()).collect(),
    run: |bytes| {
        // Also tries each reader directly, because a file that its detection rejects today may be passed to it later.
        for reader in formats::FORMATS.iter().filter_map(|format| format.reader.as_ref()) {
            let _ = (reader.read)(&mut &bytes[..]);
        }
        let Ok(recording) = formats::read(&mut &bytes[..]) else {
            return;
        };
        for series in &recording.series {
            assert!(
                series.buckets.windows(2).all(|pair| pair[0].high_ns() < pair[1].low_ns),
                "buckets overlap"
            );
            assert!(series.buckets.iter().all(|bucket| bucket.count > 0), "an empty bucket");
            let found = statistics(series);
            let spans: Vec<_> = found.quantiles.iter().filter_map(|quantile| quantile.value).collect();
            assert!(spans.is_sorted_by_key(|span| span.low_ns), "quantiles go down");
        }
        // A histogram with one sample near the end of time would be a table of a million rows.
        if recording.series.len() > 8 {
            return;
        }
        for format in formats::writers().filter(|format| !["cyclictest", "systress"].contains(&format.name)) {
            if let Some(write) = format.write {
                let _ = write(&recording);
            }
        }
    },
};
