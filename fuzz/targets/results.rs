//! Result files of `measure`, and everything that is made of one.

use super::{FuzzTarget, owned};
use measure::Measurement;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "results",
    seeds: || {
        owned(&[
            r#"{"schema":"quietcore.measure/1","kind":"noise","started_at":"2026-01-02T03:04:05Z","duration_ns":5000,"environment":{"tool_version":"0","release":"6.12.0","preemption":"lazy","cmdline":null,"model_name":null,"hypervisor":"kvm","emulated":false,"clocksource":"tsc","online":"0-1","boot_isolated":"","nohz_full":null,"partitioned":"","governor":null,"sched_rt_runtime_us":-1},"threads":[{"kind":"noise","cpu":1,"policy":"fifo","priority":80,"expected":3,"recorded":2,"missed":1,"min_ns":1,"mean_ns":1.5,"stddev_ns":0.5,"p50_ns":1,"p99_ns":2,"p999_ns":2,"max_ns":2,"histogram":[[1,1],[2,1]],"duration_ns":5000,"own":null,"started_monotonic_ns":7,"threshold_ns":100,"gaps":[{"at_ns":1,"duration_ns":2},{"at_ns":18446744073709551615,"duration_ns":0,"label":"rt_throttling"}],"gaps_total":2,"gaps_kept":2,"stolen_ns":2,"own_ns":0}],"findings":[{"id":"x","level":"error","subject":"s","message":"m","fix":""}],"complete":false}"#,
        ])
    },
    run: |bytes| {
        let Ok(result) = serde_json::from_slice::<Measurement>(bytes) else {
            return;
        };
        let recording = formats::of_measurement(result.clone());
        for write in formats::writers().filter_map(|format| format.write) {
            let _ = write(&recording);
        }
        let _ = report::measurement_text(&result, report::Histograms::Drawn, report::Style::Plain);
        let page = report::measurement_html(&result, "result.json");
        // The script of the page itself.
        assert_eq!(page.to_lowercase().matches("<script").count(), 1);
    },
};
