//! Level 3 for `run --latency`: limits of single CPUs, several holders, a kill at every step.

use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::System;
use apply::latency::{LatencyLimitResult, free, hold, release_own, sweep};
use machine::{CpuSet, TaskKey};

const FILE: &str = "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us";

fn holder(kernel: &SimKernel, tid: u32) -> TaskKey {
    machine::tasks::read_one(kernel.root(), tid).unwrap().key
}

fn now(kernel: &SimKernel) -> String {
    kernel.root().value(FILE).unwrap().unwrap()
}

fn cpus() -> CpuSet {
    CpuSet::parse_list("3").unwrap()
}

fn boot(former: &str) -> SimKernel {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    kernel.put(FILE, &format!("{former}\n"));
    kernel
}

/// Checks the value of the file while one holder is active, and after its release.
#[test]
fn a_limit_is_active_and_the_former_value_is_restored() {
    for (former, microseconds, held) in [
        ("0", 0, "n/a"),
        ("0", 20, "20"),
        ("100", 20, "20"),
        ("10", 20, "10"),
        ("n/a", 20, "n/a"),
    ] {
        let kernel = boot(former);
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        let one = holder(&kernel, 100);
        assert_eq!(
            hold(&kernel, &disk, one, microseconds, &cpus()).unwrap(),
            LatencyLimitResult::PerCpu
        );
        assert_eq!(now(&kernel), held, "{former} and {microseconds}");
        assert!(release_own(&kernel, &disk, one).unwrap().is_empty());
        assert_eq!(kernel.dump(), before, "{former} and {microseconds}");
    }
}

#[test]
fn the_former_limit_returns_when_the_last_holder_ends() {
    for last in [100, 102] {
        let kernel = boot("500");
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        for (tid, microseconds) in [(100, 50), (102, 5)] {
            hold(&kernel, &disk, holder(&kernel, tid), microseconds, &cpus()).unwrap();
        }
        assert_eq!(now(&kernel), "5");
        let first = if last == 100 { 102 } else { 100 };
        release_own(&kernel, &disk, holder(&kernel, first)).unwrap();
        assert_eq!(now(&kernel), if last == 100 { "50" } else { "5" });
        release_own(&kernel, &disk, holder(&kernel, last)).unwrap();
        assert_eq!(kernel.dump(), before);
    }
}

#[test]
fn the_limit_of_a_dead_process_is_released_and_others_stay() {
    let kernel = boot("0");
    let disk = SimDisk::new(&kernel);
    let dead = TaskKey {
        tid: 100,
        start_time: 1,
    };
    hold(&kernel, &disk, dead, 5, &cpus()).unwrap();
    hold(&kernel, &disk, holder(&kernel, 102), 50, &cpus()).unwrap();
    sweep(&kernel, &disk).unwrap();
    assert_eq!(now(&kernel), "50", "the living one's");
    free(&kernel, &disk, &CpuSet::parse_list("1-2").unwrap()).unwrap();
    assert_eq!(now(&kernel), "50", "other CPUs");
    free(&kernel, &disk, &cpus()).unwrap();
    assert_eq!(now(&kernel), "0");
}

#[test]
fn a_value_written_by_another_program_is_kept_and_reported() {
    let kernel = boot("0");
    let disk = SimDisk::new(&kernel);
    let one = holder(&kernel, 100);
    hold(&kernel, &disk, one, 5, &cpus()).unwrap();
    kernel.put(FILE, "77\n");
    let left = release_own(&kernel, &disk, one).unwrap();
    assert!(left[0].contains("`77`, set by another program"), "{left:?}");
    assert_eq!(now(&kernel), "77");
}

#[test]
fn a_cpu_without_the_file_gets_no_limit() {
    let kernel = boot("0");
    let disk = SimDisk::new(&kernel);
    let other = CpuSet::parse_list("1").unwrap();
    assert_eq!(
        hold(&kernel, &disk, holder(&kernel, 100), 5, &other).unwrap(),
        LatencyLimitResult::NoFile
    );
}

#[test]
fn a_kill_at_any_step_is_undone() {
    let work = |kernel: &SimKernel, disk: &SimDisk| {
        let dead = TaskKey {
            tid: 100,
            start_time: 1,
        };
        hold(kernel, disk, dead, 5, &cpus()).unwrap();
        release_own(kernel, disk, dead).unwrap();
    };
    let whole = boot("0");
    let disk = SimDisk::new(&whole);
    work(&whole, &disk);
    let last = whole.steps.get();
    assert!(last >= 4, "{last}");
    for death in (1..=last).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)]) {
        let kernel = boot("0");
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        kernel.death.set(death);
        assert!(dies(|| work(&kernel, &disk)), "{death:?} did not die");
        kernel.death.set(Death::Never);
        sweep(&kernel, &disk).unwrap();
        assert_eq!(now(&kernel), "0", "{death:?}");
        hold(&kernel, &disk, holder(&kernel, 102), 9, &cpus()).unwrap();
        assert_eq!(now(&kernel), "9", "{death:?}");
        release_own(&kernel, &disk, holder(&kernel, 102)).unwrap();
        assert_eq!(kernel.dump(), before, "{death:?}");
    }
}
