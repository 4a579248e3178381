//! Files of `study`: the matrix that a user wrote, and the record of it in the directory of results.

use super::{FuzzTarget, owned};
use machine::CpuSet;
use std::time::Duration;
use study::{CurrentMachine, RunPosition, RunSchedule, StudyRecord, next, pairs, parse};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "studies",
    seeds: || {
        owned(&[
            "repetitions = 2\n[measure]\nwhat = \"latency\"\ncpus = \"1\"\nfor = \"1s\"\n[axes]\nisolation = [\"balanced\", \"own\", \"none\"]\nload = [\"idle\", \"cpu+memory\"]\nknob = [\"stat_interval=60\", \"timer_migration\"]\n[isolation.own]\nprofile = \"strict\"\nwithout = [\"transparent_hugepage\"]\n",
            "repetitions = 3\nseed = 7\n[measure]\nwhat = \"noise\"\ncpus = \"2-3\"\nfor = \"500ms\"\n[axes]\nisolation = [\"a\"]\n[isolation.a]\nprofile = \"none\"\nboot = [\"isolcpus=2-3\"]\n",
            r#"{"schema":"quietcore.study-record/1","tool_version":"0","kernel":null,"model_name":"x","online":"0-3","cpus":"1","seed":7,"cells":{"a":{"load":"idle"}},"order":[["a"]],"boots":[{"words":["a=b"],"kernel":"6.1","cells":["a"]}]}"#,
        ])
    },
    run: |bytes| {
        if let Ok(record) = serde_json::from_slice::<StudyRecord>(bytes) {
            assert_eq!(record.same(&record), Ok(()));
        }
        let Ok(study) = parse(bytes) else {
            return;
        };
        let blocks = study.blocks();
        assert!(blocks.iter().all(|block| block.len() == study.cells.len()));
        let pairs = pairs(&study.axes, &study.cells);
        assert!(pairs.iter().all(|pair| pair.first < pair.other));
        let mut schedule = RunSchedule::new(&study, Vec::<RunPosition>::new());
        let _ = (schedule.remaining(), schedule.boot_sessions_left());
        let here = CurrentMachine {
            boot_id: Some("a"),
            line: "ro isolcpus=2-3",
            release: Some("6.1"),
            own_kernel: Some("6.1"),
            cpus: &CpuSet::range(2, 3),
            under_way_for: Duration::from_secs(60),
        };
        let _ = next(&study, &schedule, &[], &here);
        if let Some(place) = schedule.next() {
            schedule.finish(place, Duration::from_secs(1));
        }
    },
};
