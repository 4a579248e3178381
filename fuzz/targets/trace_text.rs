//! Text of ftrace: every line is an event, another known line, or counted as unknown.

use super::{FuzzTarget, owned};
use events::text::{TextItem, TextReader};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "trace_text",
    seeds: || {
        let mut seeds = owned(&[
            "TradeApp-31594   1d.s.. 70251098us!:  31594:115:R   + [001]     6:120:R ksoftirqd\n",
            "# tracer: function\n# entries-in-buffer/entries-written: 2/102440   #P:48\n          <idle>-0     [047] dN..   177.931485: sched_idle_set_state <-cpuidle_enter_state\n",
            "       osnoise/7-13353 [007] d.h. 37384.833988: irq_noise: ahci[0000:87:00.0]:47 start 37384.833985696 duration 2390 ns\n",
            "CPU:0 [LOST 20900 EVENTS]\nbash-21820 [000]  1783.315536: sched_switch:         bash:21820 [120] S ==> bash:21829 [120]\n",
        ]);
        let report = include_bytes!("../../fixtures/trace-dat/instance.report");
        seeds.push(report[..2_000].to_vec());
        seeds
    },
    run: |bytes| {
        let mut reader = TextReader::new(bytes);
        let mut events = 0;
        while let Some(item) = reader.next_item().expect("reading memory does not fail") {
            events += 1;
            if let TextItem::Event(event) = item {
                for (key, value) in event.fields() {
                    assert!(!key.contains(' ') && event.text.contains(value));
                }
            }
        }
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
        assert_eq!(reader.lines(), lines, "lines that were neither read nor counted");
        assert!(events + reader.unknown().lines <= lines);
    },
};
