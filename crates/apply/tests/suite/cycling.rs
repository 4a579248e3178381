//! Level 3: CPUs that go off and on again before they are isolated, also when the tool dies while they are off.

use crate::support::rehearsal::acting::{dies, isolate_as, undo};
use crate::support::rehearsal::{Death, Disk, Kernel, Rules};
use apply::{Applied, ApplyError, Force, System, Undone, Which};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

pub fn isolate(kernel: &Kernel, disk: &Disk) -> Result<Applied, ApplyError> {
    let cpus = CpuSet::parse_list("2-3").unwrap();
    let mut intent = Intent::new(PartitionName::default(), cpus, Profile::Minimal);
    intent.take("cpu_cycle").unwrap();
    isolate_as(kernel, disk, &intent, || {})
}

fn take_back(kernel: &Kernel, disk: &Disk) -> Undone {
    undo(kernel, disk, Which::Last, Force::No).unwrap()
}

fn value(kernel: &Kernel, path: &str) -> String {
    kernel.root().value(path).unwrap().unwrap()
}

#[test]
fn pins_and_interrupts_survive_the_cycle() {
    for rules in ALL_RULES {
        let kernel = Kernel::boot_with_hotplug(rules);
        let before = kernel.dump();
        let disk = Disk::new(&kernel);
        let applied = isolate(&kernel, &disk).unwrap();
        let first = applied.entries.first().unwrap();
        assert_eq!(
            (first.change.as_str(), first.outcome.text().as_str()),
            ("cpu_cycle/cpu2-3", "done")
        );
        assert_eq!(
            value(&kernel, "/sys/devices/system/cpu/online"),
            "0-3",
            "{rules:?}"
        );
        let undone = take_back(&kernel, &disk);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{rules:?}");
    }
}

#[test]
fn death_while_cpus_are_off_brings_them_back_with_all_masks() {
    for rules in ALL_RULES {
        let kernel = Kernel::boot_with_hotplug(rules);
        let disk = Disk::new(&kernel);
        isolate(&kernel, &disk).unwrap();
        let steps = kernel.steps.get();
        let mut while_off = 0;
        for step in 1..=steps {
            for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
                let kernel = Kernel::boot_with_hotplug(rules);
                let before = kernel.dump();
                let disk = Disk::new(&kernel);
                kernel.death.set(death);
                assert!(dies(|| drop(isolate(&kernel, &disk))), "{rules:?} {death:?}");
                kernel.death.set(Death::Never);
                while_off += usize::from(value(&kernel, "/sys/devices/system/cpu/online") != "0-3");
                let undone = take_back(&kernel, &disk);
                assert!(undone.equal(), "{rules:?} {death:?}: {:?}", undone.remains());
                assert_eq!(kernel.dump(), before, "{rules:?} {death:?}");
            }
        }
        assert!(
            while_off >= 8,
            "{rules:?}: only {while_off} deaths met a CPU that was off"
        );
    }
}

#[test]
fn a_cpuset_that_would_lose_the_cpu_forbids_it() {
    let kernel = Kernel::boot_with_hotplug(Rules::V1KeepsPins);
    let set = "/sys/fs/cgroup/cpuset/docker";
    kernel.make_dir(set).unwrap();
    kernel.write(&format!("{set}/cpuset.cpus"), "1-3").unwrap();
    let (before, steps) = (kernel.dump(), kernel.steps.get());
    let disk = Disk::new(&kernel);
    let refused = isolate(&kernel, &disk);
    assert!(
        matches!(&refused, Err(ApplyError::Unable { why, .. }) if why.contains("/docker")),
        "{refused:?}"
    );
    assert_eq!((kernel.dump(), kernel.steps.get()), (before, steps));
}
