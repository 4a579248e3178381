//! Tests on captured data of machines with features that the test machine may lack.

use super::*;
use crate::captured::write_file;
use crate::{GapLabel, MeasuredGap, OwnDisturbances};

/// A machine with two CPUs, with the given counts for CPU 1.
fn machine(smi: u64, hot: u64, throttled: u64) -> (tempfile::TempDir, CountSnapshot) {
    let dir = tempfile::tempdir().unwrap();
    let msr = |count: u64| [vec![0xee; 0x34], count.to_le_bytes().to_vec()].concat();
    write_file(dir.path(), "dev/cpu/0/msr", msr(7));
    // The upper half of the register is reserved.
    write_file(dir.path(), "dev/cpu/1/msr", msr(0xabcd_0000_0000_0000 | smi));
    for (cpu, count) in [(0, 40), (1, hot)] {
        let thermal = format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
        write_file(
            dir.path(),
            &format!("{thermal}/core_throttle_count"),
            format!("{count}\n"),
        );
        write_file(
            dir.path(),
            &format!("{thermal}/package_throttle_count"),
            format!("{}\n", count * 2),
        );
    }
    let debug = format!(
        "cpu#0, 2599.998 MHz\n  .nr_running : 2\ncfs_rq[0]:/\n  .rt_throttled : 9\nrt_rq[0]:\n  .rt_nr_running                 : 0\n  \
         .rt_throttled                  : 0\ndl_rq[0]:\n\ncpu#1, 2599.998 MHz\nrt_rq[1]:/a\n  .rt_throttled                  : {throttled}\n\
         rt_rq[1]:\n  .rt_throttled                  : 0\n"
    );
    write_file(dir.path(), "sys/kernel/debug/sched/debug", debug);
    let look = CountSnapshot::take(&Root::open(dir.path()).unwrap(), &CpuSet::range(0, 1));
    (dir, look)
}

fn result(policy: &str) -> ThreadResult {
    let value = serde_json::json!({
        "kind": "noise", "cpu": 1, "policy": policy, "priority": 0, "expected": 0, "recorded": 0, "missed": 0, "min_ns": null,
        "mean_ns": null, "stddev_ns": null, "p50_ns": null, "p99_ns": null, "p999_ns": null, "max_ns": null, "histogram": [],
        "own": null, "duration_ns": 1_000,
    });
    serde_json::from_value(value).unwrap()
}

fn of(counts: &[CountResult], name: &str) -> CountResult {
    counts.iter().find(|count| count.name == name).unwrap().clone()
}

#[test]
fn increases_during_the_window_are_counted_per_cpu() {
    let (_before, before) = machine(1_000, 3, 1);
    let (_after, after) = machine(1_004, 5, 0);
    let counts = counts(&result("other"), &RealtimeLimits::default(), Some([&before, &after]));
    for (name, wanted) in [
        ("smi", 4),
        ("core_throttle", 2),
        ("package_throttle", 4),
        ("rt_throttled_seen", 1),
        ("rt_throttling_gaps", 0),
    ] {
        let count = of(&counts, name);
        assert_eq!((count.count, &count.why), (Some(wanted), &None), "{name}");
        assert!(!count.source.contains('#'), "{count:?}");
    }
    assert!(of(&counts, "smi").source.contains("/dev/cpu/1/msr"));
    assert_eq!(counts.len(), ROWS.len());
}

#[test]
fn every_unavailable_count_has_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    write_file(dir.path(), "proc/nothing", "");
    let look = CountSnapshot::take(&Root::open(dir.path()).unwrap(), &CpuSet::range(1, 1));
    let counts = counts(&result("fifo"), &RealtimeLimits::default(), Some([&look, &look]));
    for count in &counts {
        assert_eq!(count.count, None, "{count:?}");
        assert!(count.why.as_deref().is_some_and(|why| why.len() > 10), "{count:?}");
    }
    assert!(of(&counts, "smi").why.unwrap().contains("module msr"));
}

#[test]
fn a_counter_that_was_reset_is_unknown() {
    let (_before, before) = machine(9, 0, 0);
    let (_after, after) = machine(2, 0, 0);
    let smi = |looks| of(&counts(&result("other"), &RealtimeLimits::default(), looks), "smi");
    assert_eq!(smi(Some([&before, &after])).count, None);
    assert!(smi(None).why.unwrap().contains("at the end of the run"));
}

#[test]
fn labelled_gaps_of_the_thread_are_counted() {
    let mut result = result("fifo");
    let gap = |at_ns, label| MeasuredGap {
        at_ns,
        duration_ns: 50_000_000,
        label,
    };
    result.gaps = Some(vec![
        gap(1, Some(GapLabel::FairServer)),
        gap(2, Some(GapLabel::FairServer)),
        gap(3, None),
        gap(4, Some(GapLabel::RtThrottling)),
    ]);
    result.steal_ns = Some(30_000_000);
    result.own = Some(OwnDisturbances {
        page_faults: 2,
        voluntary_switches: 3,
        involuntary_switches: 5,
    });
    let limits = RealtimeLimits {
        rt_runtime_us: Some(950_000),
        ..RealtimeLimits::default()
    };
    let counts = counts(&result, &limits, None);
    for (name, wanted) in [
        ("fair_server_gaps", 2),
        ("rt_throttling_gaps", 1),
        ("steal", 30_000_000),
        ("own_page_faults", 2),
        ("own_voluntary_switches", 3),
        ("own_involuntary_switches", 5),
    ] {
        assert_eq!(of(&counts, name).count, Some(wanted), "{name}");
    }
}
