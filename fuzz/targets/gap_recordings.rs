//! Files of `blame --gaps`, and the prediction that is made of one.

use super::{FuzzTarget, owned, text};
use blame::CureContext;
use predict::{ChangeSelection, PredictionInput, UntracedShares, WatchOrigin, predict};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "gap_recordings",
    seeds: || {
        owned(&[
            r#"{"cpu":3,"start_ns":1000,"end_ns":9000,"parts":[{"start_ns":1000,"end_ns":4000,"class":"tick","name":"local_timer: tick_nohz_handler","culprit":null,"confidence":"traced"},{"start_ns":4000,"end_ns":8000,"class":"preemption","name":"java","culprit":{"pid":47,"comm":"java","threads":1,"cpu":1,"callsite":null,"via":null,"chain":[{"what":"irq 45 nvme0q3","comm":"","pid":0,"cpu":7}]},"confidence":"inferred","subject":{"thread":47}},{"start_ns":8000,"end_ns":9000}]}
{"clock":"CLOCK_MONOTONIC_RAW","gaps":1,"left_out":0,"threshold_ns":1000,"watched":[{"cpu":3,"duration_ns":2000000000,"gaps":1,"left_out":0,"lost_events":0,"transitions":{"in_ns":900,"out_ns":300}}],"environment":{"tool_version":"0","release":"6.12.0","preemption":"lazy","cmdline":null,"model_name":null,"hypervisor":"kvm","emulated":false,"clocksource":"tsc","online":"0-3","boot_isolated":"","nohz_full":null,"partitioned":"","governor":null,"sched_rt_runtime_us":-1}}
"#,
        ])
    },
    run: |bytes| {
        let Ok(recording) = report::read_blame_gaps(&text(bytes)) else {
            return;
        };
        let answer = &recording.answer;
        let context = CureContext {
            requested: answer.cpus.iter().map(|cpu| machine::CpuId(cpu.cpu)).collect(),
            ..CureContext::default()
        };
        let input = PredictionInput {
            answer,
            context: &context,
            threshold_ns: recording.threshold_ns.unwrap_or(0),
            selection: ChangeSelection::Each,
            origin: WatchOrigin::Now,
            others: None,
            base_latency_ns: None,
            untraced: Some(UntracedShares {
                stolen: 0.9,
                gaps: 0.8,
                gaps_10us: 0.5,
            }),
        };
        let Ok(prediction) = predict(&input) else {
            return;
        };
        let now = prediction.now.stolen_ns_per_s.value;
        for change in &prediction.changes {
            let left = change.outcome.stolen_ns_per_s;
            assert!(
                left.low <= left.value && left.value <= left.high && left.value <= now * (1.0 + 1e-9),
                "{change:?}"
            );
        }
        let _ = report::prediction_text(&prediction, report::Style::Plain);
    },
};
