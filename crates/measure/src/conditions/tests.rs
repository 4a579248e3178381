//! Tests each condition with and without it, on captured data of machines with features that the test machine may lack.

use super::*;
use crate::MeasurementKind;
use crate::captured::write_file;
use machine::Machine;
use root::Root;
use std::time::Duration;

/// Files of a machine with two cores of two threads: a good one, whose CPUs 2 and 3 are isolated.
const GOOD: &[(&str, &str)] = &[
    ("proc/cmdline", "isolcpus=2-3\n"),
    ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Real\nflags\t\t: fpu\n\n"),
    ("proc/config.gz.absent", ""),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/cpu2/topology/core_cpus_list", "2-3\n"),
    ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state0/name", "POLL\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state0/latency", "0\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state0/disable", "0\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state2/name", "C6\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state2/latency", "133\n"),
    ("sys/devices/system/cpu/cpu2/cpuidle/state2/disable", "1\n"),
    ("sys/kernel/tracing/current_tracer", "nop\n"),
    ("sys/kernel/tracing/tracing_on", "1\n"),
    ("sys/kernel/tracing/events/enable", "0\n"),
    ("sys/kernel/tracing/instances/quiet/current_tracer", "osnoise\n"),
    ("sys/kernel/tracing/instances/quiet/tracing_on", "0\n"),
    ("boot/config-6.12.1", "CONFIG_KFENCE=y\n# CONFIG_KASAN is not set\n"),
    ("proc/sys/kernel/osrelease", "6.12.1\n"),
];

/// The results of a run; the default is a good run.
struct RunFixture {
    kind: MeasurementKind,
    idle: DeepIdle,
    loads: &'static [(u32, f64)],
    waited_ns: Option<u64>,
    steal_ns: Option<u64>,
    own_ns: u64,
    throttled: Option<u64>,
}

const QUIET: RunFixture = RunFixture {
    kind: MeasurementKind::Latency,
    idle: DeepIdle::Allowed,
    loads: &[],
    waited_ns: Some(15_000_000),
    steal_ns: Some(0),
    own_ns: 10_000_000,
    throttled: Some(0),
};

fn thread(run: &RunFixture) -> ThreadResult {
    let value = serde_json::json!({
        "kind": run.kind, "cpu": 2, "policy": "other", "priority": 0, "expected": 0, "recorded": 0, "missed": 0, "min_ns": null,
        "mean_ns": null, "stddev_ns": null, "p50_ns": null, "p99_ns": null, "p999_ns": null, "max_ns": null, "histogram": [],
        "own": null, "duration_ns": 1_000_000_000, "steal_ns": run.steal_ns, "own_ns": run.own_ns,
        "counts": [
            {"name": "smi", "count": 9, "unit": "", "source": ""},
            {"name": "core_throttle", "count": run.throttled, "unit": "", "source": ""},
        ],
    });
    serde_json::from_value(value).unwrap()
}

/// The conditions of a run on CPU 2 of the good machine, with some files replaced.
fn conditions(files: &[(&str, &str)], run: &RunFixture) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in GOOD.iter().chain(files) {
        write_file(dir.path(), path, text);
    }
    let root = Root::open(dir.path()).unwrap();
    let second = Duration::from_secs(1);
    let lane = match run.kind {
        MeasurementKind::Noise => Lane::noise(CpuId(2), second),
        _ => Lane::latency(CpuId(2), second),
    };
    let notes = notes(&ConditionInput {
        lanes: &[lane],
        environment: &Environment::of(&Machine::read(&root), &root, ""),
        fixed_settings: &ConditionSettings::read(&root, &CpuSet::range(2, 2)),
        idle: run.idle,
        loads: &run.loads.iter().map(|(cpu, load)| (CpuId(*cpu), *load)).collect(),
        threads: &[thread(run)],
        waited_ns: &[run.waited_ns],
    });
    for note in &notes {
        assert!(note.message.ends_with('.') && !note.fix.is_empty() && condition_words(&note.id).is_some());
        assert_eq!(note.level, NoteLevel::Warning);
    }
    notes.into_iter().map(|note| note.id).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_quiet_machine_has_no_conditions() {
    let run = RunFixture {
        loads: &[(0, 100.0), (1, 100.0), (2, 4.0), (3, 0.5)],
        ..QUIET
    };
    assert_eq!(conditions(&[], &run), NONE);
    let run = RunFixture {
        kind: MeasurementKind::Noise,
        loads: &[(2, 100.0)],
        ..QUIET
    };
    assert_eq!(conditions(&[], &run), NONE);
}

#[test]
fn unknown_data_is_no_condition() {
    let run = RunFixture {
        waited_ns: None,
        steal_ns: None,
        throttled: None,
        ..QUIET
    };
    let scene = ConditionInput {
        lanes: &[Lane::latency(CpuId(2), Duration::from_secs(1))],
        environment: &Environment::default(),
        fixed_settings: &ConditionSettings::default(),
        idle: DeepIdle::Allowed,
        loads: &BTreeMap::new(),
        threads: &[thread(&run)],
        waited_ns: &[],
    };
    assert_eq!(notes(&scene), []);
}

const GUEST: &str = "processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\nflags\t\t: fpu hypervisor\n\n";

/// Each condition, a file that makes the difference, and the run.
const CASES: &[(&str, (&str, &str), RunFixture)] = &[
    ("cpu_not_isolated", ("sys/devices/system/cpu/isolated", "3\n"), QUIET),
    ("under_hypervisor", ("proc/cpuinfo", GUEST), QUIET),
    (
        "steal",
        ("proc/x", ""),
        RunFixture {
            steal_ns: Some(10_000_000),
            ..QUIET
        },
    ),
    (
        "cpu_shared",
        ("proc/x", ""),
        RunFixture {
            kind: MeasurementKind::Noise,
            waited_ns: Some(40_000_000),
            ..QUIET
        },
    ),
    (
        "cpu_shared",
        ("proc/x", ""),
        RunFixture {
            loads: &[(2, 60.0)],
            ..QUIET
        },
    ),
    (
        "sibling_busy",
        ("proc/x", ""),
        RunFixture {
            loads: &[(3, 5.0)],
            ..QUIET
        },
    ),
    (
        "governor_not_performance",
        ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
        QUIET,
    ),
    (
        "deep_idle_states",
        ("sys/devices/system/cpu/cpu2/cpuidle/state2/disable", "0\n"),
        QUIET,
    ),
    (
        "thermal_throttling",
        ("proc/x", ""),
        RunFixture {
            throttled: Some(1),
            ..QUIET
        },
    ),
    ("tracing_on", ("sys/kernel/tracing/current_tracer", "function\n"), QUIET),
    ("tracing_on", ("sys/kernel/tracing/events/enable", "X\n"), QUIET),
    (
        "tracing_on",
        ("sys/kernel/tracing/instances/quiet/tracing_on", "1\n"),
        QUIET,
    ),
    (
        "debug_kernel",
        ("boot/config-6.12.1", "CONFIG_KASAN=y\nCONFIG_PROVE_LOCKING=y\n"),
        QUIET,
    ),
    ("debug_kernel", ("proc/lockdep", ""), QUIET),
];

#[test]
fn each_condition_is_detected() {
    for (id, file, run) in CASES {
        assert_eq!(conditions(&[*file], run), [*id], "{file:?}");
    }
    let seen: std::collections::BTreeSet<&str> = CASES.iter().map(|(id, _, _)| *id).collect();
    assert_eq!(seen.len(), CONDITIONS.len(), "a condition that no case shows");
}

#[test]
fn idle_states_count_only_for_sleeping_threads_that_allow_them() {
    let open = ("sys/devices/system/cpu/cpu2/cpuidle/state2/disable", "0\n");
    let held = RunFixture {
        idle: DeepIdle::PreventedByUs,
        ..QUIET
    };
    assert_eq!(conditions(&[open], &held), NONE);
    let spins = RunFixture {
        kind: MeasurementKind::Noise,
        ..QUIET
    };
    assert_eq!(conditions(&[open], &spins), NONE);
}

#[test]
fn own_wake_ups_do_not_count_as_a_shared_cpu() {
    let run = |own_ns| RunFixture {
        kind: MeasurementKind::Noise,
        waited_ns: Some(400_000_000),
        own_ns,
        ..QUIET
    };
    assert_eq!(conditions(&[], &run(395_000_000)), NONE);
    assert_eq!(conditions(&[], &run(0)), ["cpu_shared"]);
}
