//! Level 3 for `run --latency`: limits of single CPUs, several holders, death at every step.

use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::{Death, Disk, Kernel, Rules};
use apply::System;
use apply::latency::{Held, free, hold, let_go, sweep};
use machine::{CpuSet, TaskKey};

const FILE: &str = "/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us";

fn holder(kernel: &Kernel, tid: u32) -> TaskKey {
    machine::tasks::read_one(kernel.root(), tid).unwrap().key
}

fn now(kernel: &Kernel) -> String {
    kernel.root().value(FILE).unwrap().unwrap()
}

fn cpus() -> CpuSet {
    CpuSet::parse_list("3").unwrap()
}

fn boot(former: &str) -> Kernel {
    let kernel = Kernel::boot_with_settings(Rules::V2);
    kernel.put(FILE, &format!("{former}\n"));
    kernel
}

/// What is there afterwards with one holder, and what the file says while it holds.
#[test]
fn a_limit_holds_and_what_was_there_comes_back() {
    for (former, microseconds, held) in [
        ("0", 0, "n/a"),
        ("0", 20, "20"),
        ("100", 20, "20"),
        ("10", 20, "10"),
        ("n/a", 20, "n/a"),
    ] {
        let kernel = boot(former);
        let disk = Disk::new(&kernel);
        let before = kernel.dump();
        let one = holder(&kernel, 100);
        assert_eq!(
            hold(&kernel, &disk, one, microseconds, &cpus()).unwrap(),
            Held::PerCpu
        );
        assert_eq!(now(&kernel), held, "{former} and {microseconds}");
        assert!(let_go(&kernel, &disk, one).unwrap().is_empty());
        assert_eq!(kernel.dump(), before, "{former} and {microseconds}");
    }
}

#[test]
fn two_programs_on_one_cpu_give_back_when_the_last_one_ends() {
    for last in [100, 102] {
        let kernel = boot("500");
        let disk = Disk::new(&kernel);
        let before = kernel.dump();
        for (tid, microseconds) in [(100, 50), (102, 5)] {
            hold(&kernel, &disk, holder(&kernel, tid), microseconds, &cpus()).unwrap();
        }
        assert_eq!(now(&kernel), "5");
        let first = if last == 100 { 102 } else { 100 };
        let_go(&kernel, &disk, holder(&kernel, first)).unwrap();
        assert_eq!(now(&kernel), if last == 100 { "50" } else { "5" });
        let_go(&kernel, &disk, holder(&kernel, last)).unwrap();
        assert_eq!(kernel.dump(), before);
    }
}

#[test]
fn who_died_holds_nothing_and_who_lives_does() {
    let kernel = boot("0");
    let disk = Disk::new(&kernel);
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
fn what_somebody_else_wrote_is_left_and_named() {
    let kernel = boot("0");
    let disk = Disk::new(&kernel);
    let one = holder(&kernel, 100);
    hold(&kernel, &disk, one, 5, &cpus()).unwrap();
    kernel.put(FILE, "77\n");
    let left = let_go(&kernel, &disk, one).unwrap();
    assert!(left[0].contains("`77` now"), "{left:?}");
    assert_eq!(now(&kernel), "77");
}

#[test]
fn a_cpu_without_the_file_is_not_held() {
    let kernel = boot("0");
    let disk = Disk::new(&kernel);
    let other = CpuSet::parse_list("1").unwrap();
    assert_eq!(
        hold(&kernel, &disk, holder(&kernel, 100), 5, &other).unwrap(),
        Held::NoFile
    );
}

#[test]
fn death_at_every_step_is_taken_back() {
    let work = |kernel: &Kernel, disk: &Disk| {
        let dead = TaskKey {
            tid: 100,
            start_time: 1,
        };
        hold(kernel, disk, dead, 5, &cpus()).unwrap();
        let_go(kernel, disk, dead).unwrap();
    };
    let whole = boot("0");
    let disk = Disk::new(&whole);
    work(&whole, &disk);
    let last = whole.steps.get();
    assert!(last >= 4, "{last}");
    for death in (1..=last).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)]) {
        let kernel = boot("0");
        let disk = Disk::new(&kernel);
        let before = kernel.dump();
        kernel.death.set(death);
        assert!(dies(|| work(&kernel, &disk)), "{death:?} did not die");
        kernel.death.set(Death::Never);
        sweep(&kernel, &disk).unwrap();
        assert_eq!(now(&kernel), "0", "{death:?}");
        hold(&kernel, &disk, holder(&kernel, 102), 9, &cpus()).unwrap();
        assert_eq!(now(&kernel), "9", "{death:?}");
        let_go(&kernel, &disk, holder(&kernel, 102)).unwrap();
        assert_eq!(kernel.dump(), before, "{death:?}");
    }
}
